// Prints the compiler errors in our files and the consumer's files, for each tsconfig. Only these files are checked,
// which finds the same errors in them as `tsc --noEmit`, but saves the minutes that checking all other files would take.
//
//   node compile.mjs <module of typescript> <project folder> <tsconfig>…

import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

const [compiler = '', project = '', ...configs] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(compiler);
const isOurs = (/** @type {string} */ file) =>
  /^(?!\.\.)(?!node_modules\/(?!sluice))/.test(relative(project, file));

/** Parsed source files, shared by all configurations. */
const parsed = new Map();
/** The files that were checked. */
const ours = new Set();

/** @param {string} config @returns {string[]} */
function complaints(config) {
  const { config: json } = ts.readConfigFile(join(project, config), ts.sys.readFile);
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(
    json,
    ts.sys,
    dirname(join(project, config)),
  );
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile;
  host.getSourceFile = (/** @type {string} */ file, /** @type {any} */ how, /** @type {any[]} */ ...rest) => {
    const id = `${file} ${how?.impliedNodeFormat}`;
    if (!parsed.has(id)) parsed.set(id, read(file, how, ...rest));
    return parsed.get(id);
  };
  const program = ts.createProgram(fileNames, options, host);
  const found = [...errors, ...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
  for (const file of program.getSourceFiles())
    if (isOurs(file.fileName)) {
      ours.add(file.fileName);
      found.push(...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file));
    }
  return found.map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, ' ');
    return file === undefined ? text : `${relative(project, file.fileName)}: ${text}`;
  });
}

const found = configs.flatMap(complaints);
console.log(JSON.stringify({ version: ts.version, files: ours.size, complaints: found }));
