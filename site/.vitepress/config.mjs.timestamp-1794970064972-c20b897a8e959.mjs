// .vitepress/config.mjs
import { defineConfig } from "file:///tmp/wt/machinery/node_modules/vitepress/dist/node/index.js";

// lib/llms.mjs
import { mkdirSync as mkdirSync2, writeFileSync as writeFileSync2 } from "node:fs";
import { dirname as dirname3, join as join3 } from "node:path";

// lib/markdown.mjs
import { cpSync, existsSync as existsSync2, mkdirSync, readdirSync as readdirSync2, statSync, writeFileSync } from "node:fs";
import { dirname as dirname2, join as join2, relative, resolve } from "node:path";

// lib/pages.mjs
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
var __vite_injected_original_import_meta_url = "file:///tmp/wt/machinery/site/lib/pages.mjs";
var root = join(dirname(fileURLToPath(__vite_injected_original_import_meta_url)), "../..");
var EXCLUDED = [
  "packages/sluice/README.md",
  ".github/**",
  ".changeset/**",
  "packages/*/test/**",
  "packages/*/test-artefacts/**",
  "benchmarks/*/**",
  "runtimes/**",
  "coverage/**"
];
var ADDRESSES = (
  /** @type {const} */
  [
    [/^site\/index\.md$/, "index.md"],
    [/^site\/generated\/(.+)$/, "$1"],
    [/^README\.md$/, "overview.md"],
    [/^CONTRIBUTING\.md$/, "contributing/index.md"],
    [/^CHANGELOG\.md$/, "changes.md"],
    [/^SECURITY\.md$/, "security.md"],
    [/^CODE_OF_CONDUCT\.md$/, "contributing/code-of-conduct.md"],
    [/^docs\/(.+\/)?README\.md$/, "$1index.md"],
    [/^docs\/(.+)$/, "$1"],
    [/^benchmarks\/RESULTS\.md$/, "results.md"],
    [/^examples\/README\.md$/, "examples.md"],
    [/^packages\/sluice\/src\/(algorithms|stores)\/([\w-]+)\/README\.md$/, "$1/$2.md"],
    [/^packages\/sluice\/src\/([\w-]+)\/README\.md$/, "$1.md"],
    [/^packages\/sluice-server\/README\.md$/, "server.md"],
    [/^packages\/playground\/README\.md$/, "playground.md"],
    [/^packages\/playground\/LIVE\.md$/, "live.md"]
  ]
);
function addressOf(file) {
  for (const [from, to] of ADDRESSES) {
    const found = from.exec(file);
    if (found !== null) return to.replace(/\$(\d)/g, (_, group) => found[Number(group)] ?? "");
  }
  return file;
}
var textOf = (file) => readFileSync(join(root, file), "utf8");
function titleOf(file) {
  return (/^# (.+)$/m.exec(textOf(file))?.[1] ?? file).replaceAll("`", "");
}
function entry(file, text = titleOf(file)) {
  return { text, link: `/${addressOf(file)}` };
}
function filesIn(folder2, pattern) {
  return readdirSync(join(root, folder2), { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/")).filter((name) => pattern.test(name)).sort().map((name) => `${folder2}/${name}`);
}
function folder(folder2, first, pattern = /^(?!README)[\w-]+\.md$/) {
  const files2 = filesIn(folder2, pattern);
  const named = first.map((name) => `${folder2}/${name}.md`);
  return [...named, ...files2.filter((file) => !named.includes(file))].map((file) => entry(file));
}
var GUIDES = [
  "login-protection",
  "api-tiers",
  "llm-tokens",
  "outbound-calls",
  "several-processes",
  "redis-cluster",
  "when-redis-is-down",
  "behind-proxies",
  "headers",
  "testing",
  "metrics"
];
var OTHERS = ["examples/README.md", "SECURITY.md", "CHANGELOG.md"];
function sidebar(reference) {
  const source = "packages/sluice/src";
  return [
    {
      text: "Start",
      items: [
        entry("docs/start.md"),
        entry("docs/choose.md"),
        entry("README.md", "Everything on one page"),
        entry("docs/how-it-works.md")
      ]
    },
    { text: "Guides", items: folder("docs/guides", GUIDES) },
    {
      text: "Middlewares",
      items: [
        entry("docs/middleware/README.md", "What all can do"),
        ...folder("docs/middleware", ["express"])
      ]
    },
    {
      text: "Server and page",
      items: [
        entry("packages/sluice-server/README.md", "The server"),
        entry("packages/playground/README.md"),
        entry("packages/playground/LIVE.md")
      ]
    },
    {
      text: "Migration",
      items: [entry("docs/migrate/README.md"), ...folder("docs/migrate", [])]
    },
    {
      text: "Algorithms",
      collapsed: true,
      items: folder(`${source}/algorithms`, ["gcra/README"], /^[\w-]+\/README\.md$/)
    },
    {
      text: "Stores and wrappers",
      collapsed: true,
      items: [
        ...folder(`${source}/stores`, ["memory/README", "redis/README"], /^[\w-]+\/README\.md$/),
        ...folder(source, [], /^[\w-]+\/README\.md$/)
      ]
    },
    { text: "Reference", collapsed: true, items: reference.map((file) => entry(file)) },
    {
      text: "Errors",
      collapsed: true,
      items: folder("docs/errors", [])
    },
    {
      text: "Project",
      items: [
        ...folder("docs", ["benchmarks", "comparison"], /^(?!start|choose|how-it-works)[\w-]+\.md$/),
        entry("benchmarks/RESULTS.md"),
        ...OTHERS.filter((file) => existsSync(join(root, file))).map((file) => entry(file))
      ]
    },
    {
      text: "Contributing",
      collapsed: true,
      items: [
        entry("CONTRIBUTING.md"),
        ...folder("docs/contributing", ["architecture", "algorithms", "stores", "tests"]),
        entry("CODE_OF_CONDUCT.md")
      ]
    },
    {
      text: "Decisions",
      collapsed: true,
      items: [entry("docs/decisions/README.md", "All"), ...folder("docs/decisions", [])]
    }
  ];
}

// lib/charts.mjs
var UNITS = { k: 1e3, M: 1e6 };
var OWN = /sluice|leased|synced|denyCache|direct/i;
function chartOf(marker) {
  const [section = "", columns = "", unit = "", rows = ""] = marker.split("|").map((part) => part.trim());
  const all = barsOf(textOf("benchmarks/RESULTS.md"), section, columns.split(" + "));
  const bars = all.filter(({ name }) => name.startsWith(rows));
  if (bars.length === 0) throw new Error(`benchmarks/RESULTS.md has no row ${rows} in section ${section}`);
  return draw(bars, `${columns}: ${unit}`, unit);
}
function barsOf(results, section, columns) {
  const text = results.split(`<!-- ${section}:start -->`)[1]?.split(`<!-- ${section}:end -->`)[0];
  for (const table of text?.match(/(^\|.*\|\n)+/gm) ?? []) {
    const [head = [], , ...rows] = table.trim().split("\n").map(cellsOf);
    const places = columns.map((column) => head.indexOf(column));
    if (places.includes(-1)) continue;
    return rows.flatMap(
      (row) => places.flatMap(
        (place, i) => barsIn(row[0] ?? "", row[place] ?? "", columns.length > 1 ? columns[i] ?? "" : "")
      )
    );
  }
  throw new Error(`benchmarks/RESULTS.md has no column ${columns.join(", ")} in section ${section}`);
}
function barsIn(name, cell, series) {
  const [before = "", after] = cell.split(" \u2192 ");
  const parts = after === void 0 ? [{ series, text: cell }] : [
    { series: "before", text: before },
    { series: "after", text: after }
  ];
  const bars = parts.map((part) => ({ name, ...part, value: numberIn(part.text) }));
  return bars.every(({ value }) => Number.isFinite(value)) ? bars : [];
}
function numberIn(text) {
  const [, digits, unit = ""] = /^([\d.]+)([kM]?)/.exec(text.replaceAll(",", "")) ?? [];
  return Number(digits) * (UNITS[unit] ?? 1);
}
var cellsOf = (line) => line.slice(1, -1).split("|").map((cell) => cell.trim());
function draw(bars, title2, unit) {
  const sorted = bars.map(({ value }) => value).sort((a, b) => a - b);
  const middle = sorted[sorted.length >> 1] ?? 0;
  const full = sorted.findLast((value) => value <= middle * 8) ?? middle;
  const isOneRow = bars.every(({ name }) => name === bars[0]?.name);
  const kinds = bars.map(kindOf);
  const isAlone = !kinds.includes("own");
  const lines = bars.map(({ name, series, value, text }, i) => {
    const label = isOneRow ? series || name : bars[i - 1]?.name === name ? "" : name;
    const figure = /in brackets/.test(unit) ? text : text.replace(/ \(.*$/, "");
    const shown = `${figure}${value > full ? " \u2026 cut" : ""}`;
    const part = (Math.min(value, full) / full).toFixed(4);
    return [
      `<span class="name">${escaped(label)}</span>`,
      `<span class="measure"><span class="bar ${isAlone ? "own" : kinds[i]}" style="--part: ${part}"></span>`,
      `<span class="figure">${escaped(shown)}</span></span>`
    ].join("");
  });
  return `<figure class="chart"><div class="bars" role="img" aria-label="${escaped(title2)}">${lines.join("")}</div><figcaption>${escaped(unit)}</figcaption></figure>
`;
}
function kindOf({ name, series }) {
  if (series === "after" || OWN.test(series === "before" ? "" : `${name} ${series}`)) return "own";
  return /^(a bare|nothing but|PING|redis-server INCR)/.test(name) ? "bare" : "peer";
}
var escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll("{", "&#123;");

// lib/markdown.mjs
function slugOf(heading) {
  return heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}
function targetOf(page, href) {
  if (/^([a-z]+:|\/|#)/i.test(href)) return void 0;
  const [path = "", anchor] = href.split("#");
  const file = relative(root, resolve(root, dirname2(page), path)).replaceAll("\\", "/");
  const suffix = anchor === void 0 ? "" : `#${anchor}`;
  if (file.endsWith(".md")) return { file, href: `/${addressOf(file)}${suffix}`, isPage: true };
  if (!existsSync2(join2(root, file))) throw new Error(`${page} links to ${href}, which does not exist`);
  return { file, href: `/files/${file}.txt`, isPage: false };
}
function repositoryMarkdown(md, files2) {
  md.core.ruler.push("repository-links", (state) => {
    const page = pageOf(state.env);
    for (const block of state.tokens)
      for (const token of block.children ?? []) {
        if (token.type !== "link_open") continue;
        const target = targetOf(page, token.attrGet("href") ?? "");
        if (target === void 0) continue;
        token.attrSet("href", target.href);
        if (!target.isPage) files2.add(target.file);
      }
  });
  const html = md.renderer.rules.html_block;
  md.renderer.rules.html_block = (tokens, index, options, env, self) => {
    const chart = /^<!-- chart: (.+) -->\s*$/.exec(tokens[index]?.content ?? "");
    if (chart !== null) return chartOf(chart[1] ?? "");
    return html === void 0 ? tokens[index]?.content ?? "" : html(tokens, index, options, env, self);
  };
}
function copyFiles(files2, outDir) {
  for (const file of files2) {
    const target = join2(outDir, "files", `${file}.txt`);
    mkdirSync(dirname2(target), { recursive: true });
    if (!statSync(join2(root, file)).isDirectory()) cpSync(join2(root, file), target);
    else writeFileSync(target, `${readdirSync2(join2(root, file)).join("\n")}
`);
  }
}
function pageOf(env) {
  return relative(root, env["realPath"] ?? env["path"] ?? "").replaceAll("\\", "/");
}

// lib/llms.mjs
function writeLlms({ outDir, base, pages, sections: sections2, title: title2, summary }) {
  const texts = new Map(pages.map((page) => [`/${addressOf(page)}`, markdownOf(page, base)]));
  for (const [address, text] of texts) write(join3(outDir, address), text);
  const lines = [`# ${title2}`, "", `> ${summary}`];
  for (const { text, items } of sections2) {
    lines.push("", `## ${text}`, "");
    for (const item of items) {
      const summary2 = summaryOf(texts.get(item.link) ?? "");
      lines.push(`- [${item.text}](${base}${item.link.slice(1)})${summary2 && `: ${summary2}`}`);
    }
  }
  write(join3(outDir, "llms.txt"), `${lines.join("\n")}
`);
  const order2 = sections2.flatMap(({ items }) => items.map(({ link }) => texts.get(link) ?? ""));
  write(join3(outDir, "llms-full.txt"), order2.join("\n\n---\n\n"));
}
var SHORT = 25;
function summaryOf(text) {
  const body = text.replace(/^---\n[\s\S]*?\n---\n/, "").replace(/^```[\s\S]*?^```$/gm, "");
  const [, about] = /^# [^\n:]+: (.+)$/m.exec(body) ?? [];
  const [lead = ""] = body.split(/^## /m);
  const paragraph = proseOf(lead) ?? (about && `${about.charAt(0).toUpperCase()}${about.slice(1)}.`) ?? proseOf(body);
  return firstSentence(paragraph ?? "");
}
function proseOf(text) {
  const paragraphs = text.split(/\n\s*\n/).map((part) => part.replace(/^\s*\n/, ""));
  return paragraphs.map((part) => part.replace(/^#.*\n?/, "")).find((part) => /^[^\s#>|!<\-*\d]/.test(part));
}
function firstSentence(markdown) {
  const codes = [];
  const plain2 = markdown.replaceAll(/`([^`]+)`/g, (_, code) => `\0${codes.push(code) - 1}\0`).replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("*", "").replaceAll(/\s+/g, " ").trim().replace(/:$/, ".");
  const sentences = plain2.match(/.+?[.?!](?= |$)/g) ?? [plain2];
  const [first = "", second = ""] = sentences;
  const summary = first.length < SHORT ? first + second : first;
  return summary.replaceAll(/\0(\d+)\0/g, (_, i) => codes[i] ?? "");
}
function markdownOf(page, base) {
  return textOf(page).replaceAll(/(?<!!\[[^\]]*)\]\(([^)\s]+)\)/g, (all, href) => {
    const target = targetOf(page, href);
    return target === void 0 ? all : `](${base}${target.href.slice(1)})`;
  });
}
function write(file, text) {
  mkdirSync2(dirname3(file), { recursive: true });
  writeFileSync2(file, text);
}

// lib/reference.mjs
import { existsSync as existsSync3, readdirSync as readdirSync3, readFileSync as readFileSync2, rmSync, statSync as statSync2, writeFileSync as writeFileSync3 } from "node:fs";
import { join as join4 } from "node:path";
import { Application } from "file:///tmp/wt/machinery/site/node_modules/typedoc/dist/index.js";

// lib/reference-check.mjs
var FOREIGN = new Set(
  `AbortSignal Date Error Float64Array Headers Map Promise RangeError Request Response SharedArrayBuffer Uint8Array
  Exclude Extract NoInfer Omit Parameters Partial Pick Readonly ReadonlyMap Record Required ReturnType ClassDecorator MethodDecorator
  IncomingMessage ServerResponse Http2ServerRequest Http2ServerResponse
  CallHandler CanActivate ConfigurableModuleAsyncOptions DynamicModule ExecutionContext HttpException NestInterceptor
  FastifyPluginAsync FastifyRequest Context MiddlewareHandler Attributes Meter Tracer Infinity`.split(/\s+/)
);
function faultsOf(pages, exported) {
  const known = new Set([...pages.values()].flatMap(entriesOf));
  return [...exported].flatMap(([entry2, names]) => {
    const page = pages.get(entry2);
    if (page === void 0) return [`${entry2} has no page`];
    const places = /* @__PURE__ */ new Set([...entriesOf(page), ...listedIn(page)]);
    return [
      ...names.filter((name) => !places.has(name)).map((name) => `${entry2} does not document ${name}`),
      ...strangersIn(page, known).map((name) => `${entry2} mentions ${name}, which has no entry`),
      ...cutOff(page).map((line) => `${entry2} abbreviates a type: ${line}`),
      ...bareRows(page).map((name) => `${entry2} has no comment for ${name}`)
    ];
  });
}
var entriesOf = (page) => matches(page.replaceAll("\\_", "_"), /^## (\w+)(?:\(\))? \{#/gm);
var listedIn = (page) => matches(page, /^- \[(\w+)\]\(/gm);
function strangersIn(page, known) {
  const codes = matches(page, /^```ts\n([\s\S]*?)^```$/gm).map(
    (code) => code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'|"[^"\n]*"/g, "")
  );
  const parameters = /* @__PURE__ */ new Set([
    ...matches(page, /<a id="type-parameter-[^"]*"><\/a> `(\w+)`/g),
    ...codes.flatMap((code) => matches(code, /<(\w+)(?: extends |>\()/g))
  ]);
  const isForeign2 = (name) => FOREIGN.has(name) || parameters.has(name);
  const inCode = codes.flatMap((code) => matches(code, /(?<![\w.])([A-Z]\w*)(?!\w*\??:)/g)).filter((name) => !known.has(name));
  const inTypes = typesIn(page).flatMap((type) => matches(type, /(?<!\[)`([A-Z]\w*)`(?!\??:)/g));
  return [...new Set([...inCode, ...inTypes].filter((name) => !isForeign2(name)))];
}
function typesIn(page) {
  const lines = page.replaceAll(/^```[\s\S]*?^```$/gm, "").split("\n");
  return lines.flatMap((line, i) => {
    if (line.startsWith("|")) return [cellsOf2(line)[2] ?? ""];
    return /^#+ (Returns|Extends)$/.test(lines[i - 2] ?? "") ? [line] : [];
  });
}
var cutOff = (page) => page.split("\n").filter((line) => /& `object`|`object`\[\]/.test(line));
function bareRows(page) {
  return matches(page, /((?:^\| .*\n)+)/gm).filter((table) => table.startsWith("| Property ")).flatMap((table) => {
    const [head = "", , ...rows] = table.trimEnd().split("\n");
    const place = cellsOf2(head).indexOf(" Description ");
    return rows.map(cellsOf2).filter((cells) => /^( -)? *$/.test(cells[place] ?? "")).map((cells) => /`([^`]+)`/.exec(cells[1] ?? "")?.[1] ?? "");
  });
}
var cellsOf2 = (row) => row.split(/(?<!\\)\|/);
var matches = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? "");

// lib/reference-form.mjs
var OPTIONS = {
  plugin: ["typedoc-plugin-markdown"],
  router: "module",
  readme: "none",
  name: "Reference",
  entryFileName: "index",
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  disableSources: true,
  disableGit: true,
  skipErrorChecking: true,
  logLevel: "Warn",
  validation: { notExported: true, invalidLink: true, notDocumented: false },
  hideBreadcrumbs: true,
  hidePageHeader: true,
  hideGroupHeadings: true,
  useCodeBlocks: true,
  useCustomAnchors: true,
  expandObjects: true,
  expandParameters: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  propertyMembersFormat: "table",
  typeAliasPropertiesFormat: "table",
  tableColumnSettings: { hideModifiers: true, hideInherited: true },
  typeDeclarationVisibility: "compact",
  sort: ["source-order"],
  groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables"]
};
function tidied(page, aliases) {
  const code = page.replaceAll(/^```ts\n([\s\S]*?)\n```$/gm, (_, block) => {
    const [, alias = ""] = /^type (\w+)/.exec(block) ?? [];
    const shown = aliases.get(alias) ?? (CALL.test(block) ? inLines(block) : block);
    return `\`\`\`ts
${shown}
\`\`\``;
  });
  return compactReexports(withoutNoDefaults(withoutRepeats(code)));
}
var CALL = /^(?:(?:function|new|static|optional) )*\w*(?:<.*?>)?\(/s;
var LONGEST = 100;
function inLines(block) {
  const line = block.replaceAll(/\s+/g, " ").replaceAll(/([([]) /g, "$1").replaceAll(/ ([)\]])/g, "$1").replaceAll(/([:(<,]|=>) ?\| /g, (_, before) => /[(<]/.test(before) ? before : `${before} `);
  const start = line.indexOf("(") + 1;
  if (line.length <= LONGEST || line[start] === ")") return line;
  const parameters = [""];
  let depth = 0;
  let i = start;
  for (; i < line.length; i++) {
    const character = line[i] ?? "";
    if (character === ")" && depth === 0) break;
    if (/[([{<]/.test(character)) depth++;
    if (/[)\]}]/.test(character) || character === ">" && line[i - 1] !== "=") depth--;
    if (character === "," && depth === 0) parameters.push("");
    else parameters[parameters.length - 1] += character;
  }
  return `${line.slice(0, start)}
${parameters.map((one) => `  ${one.trim()},
`).join("")}${line.slice(i)}`;
}
function withoutRepeats(page) {
  return page.replaceAll(/^\| `[^`|]+\.[^`|]+` \| (?:\\\||[^|\n])* \|(?: - \|)?\n/gm, "");
}
function withoutNoDefaults(page) {
  return page.replaceAll(/^\|[^\n]*\| Default value \|[^\n]*\n(?:\|.*\n)+/gm, (table) => {
    const place = cellsOf2(table.split("\n")[0] ?? "").indexOf(" Default value ");
    return table.replaceAll(/^\|.*$/gm, (row) => {
      const cells = cellsOf2(row);
      if (cells[place] === " `undefined` ") cells[place] = " ";
      return cells.join("|");
    });
  });
}
function compactReexports(page) {
  const section = /^## .+\n\nRe-exports (\[.+\]\(.+\))\n(?:\n\*\*\*\n\n)?/gm;
  const links = [...page.matchAll(section)].map(([, link]) => `- ${link}`);
  if (links.length === 0) return page;
  const rest = page.replaceAll(section, "").trimEnd();
  return `${rest.replace(/\n\*\*\*$/, "").trimEnd()}

***

## Also exported here {#also-exported-here}

${links.join("\n")}
`;
}

// lib/reference-model.mjs
import {
  Comment,
  Converter,
  DeclarationReflection,
  makeRecursiveVisitor,
  ParameterReflection,
  ReferenceType,
  ReflectionKind,
  ReflectionType,
  SignatureReflection
} from "file:///tmp/wt/machinery/site/node_modules/typedoc/dist/index.js";
import ts from "file:///tmp/wt/machinery/site/node_modules/typescript/lib/typescript.js";
function keepNames(converter) {
  const convertType = converter.convertType.bind(converter);
  const converted = (context, type, node) => node !== void 0 && isWhole(context.checker, node, type) ? convertType(context, node) : convertType(context, type, node);
  converter.convertType = /** @type {typeof convertType} */
  converted;
}
function aliasTexts(converter) {
  const texts = /* @__PURE__ */ new Map();
  converter.on(Converter.EVENT_CREATE_DECLARATION, (context, one) => {
    const node = context.getSymbolFromReflection(one)?.declarations?.find(ts.isTypeAliasDeclaration);
    if (node === void 0 || !one.kindOf(ReflectionKind.TypeAlias)) return;
    const module = one.parent?.name ?? "";
    const text = node.getText().replace(/^export /, "");
    texts.set(module, (texts.get(module) ?? /* @__PURE__ */ new Map()).set(one.name, text));
  });
  return texts;
}
function isWhole(checker, node, type) {
  const isOpen = contains(
    node,
    (part) => ts.isThisTypeNode(part) || ts.isTypePredicateNode(part) || // `keyof typeof TABLE` is meaningless without the table.
    ts.isTypeQueryNode(part) || ts.isTypeReferenceNode(part) && ((checker.getSymbolAtLocation(part.typeName)?.flags ?? 0) & ts.SymbolFlags.TypeParameter) !== 0
  );
  return !isOpen && checker.isTypeAssignableTo(checker.getTypeFromTypeNode(node), type);
}
var contains = (node, is) => is(node) || ts.forEachChild(node, (part) => contains(part, is)) === true;
function describe(project, heads) {
  const texts = new Set(heads.values());
  for (const one of Object.values(project.reflections))
    if (one.comment !== void 0 && texts.has(Comment.combineDisplayParts(one.comment.summary)))
      delete one.comment;
  for (const module of project.children ?? [])
    module.comment = new Comment([{ kind: "text", text: heads.get(module.name) ?? "" }]);
  const takers = takersOf(project);
  for (const one of project.getReflectionsByKind(ReflectionKind.Interface)) {
    const functions = takers.get(one);
    if (one.comment !== void 0 || !(one instanceof DeclarationReflection)) continue;
    const [base] = one.extendedTypes ?? [];
    if (base instanceof ReferenceType && base.reflection?.comment) one.comment = base.reflection.comment;
    if (functions === void 0) continue;
    const links = [...functions].flatMap((target, i) => [
      { kind: "text", text: i === 0 ? "Options of " : ", " },
      { kind: "inline-tag", tag: "@linkcode", text: target.name, target }
    ]);
    one.comment = new Comment([...links, { kind: "text", text: "." }]);
  }
}
var TOLD = ReflectionKind.Function | ReflectionKind.Class | ReflectionKind.Interface | ReflectionKind.TypeAlias | ReflectionKind.Variable | ReflectionKind.Property | ReflectionKind.Method | ReflectionKind.Accessor;
function silent(project) {
  return project.getReflectionsByKind(TOLD).filter((one) => !isWrittenOut(one) && !isTold(one)).map((one) => one.getFriendlyFullName());
}
var isWrittenOut = ({ parent }) => parent !== void 0 && (parent.kindOf(ReflectionKind.TypeLiteral | ReflectionKind.Parameter) || isWrittenOut(parent));
function isTold(one) {
  if (one.hasComment() || !(one instanceof DeclarationReflection)) return one.hasComment();
  const { signatures = [], getSignature, type } = one;
  const inType = type instanceof ReflectionType ? type.declaration.signatures ?? [] : [];
  return [...signatures, ...inType, ...getSignature ? [getSignature] : []].some((two) => two.hasComment());
}
function takersOf(project) {
  const takers = /* @__PURE__ */ new Map();
  for (const one of Object.values(project.reflections)) {
    const owner = one.parent?.parent;
    if (!(one instanceof ParameterReflection) || owner === void 0) continue;
    const taker = owner.kindOf(ReflectionKind.Constructor) ? owner.parent : owner;
    if (!taker?.kindOf(ReflectionKind.Function | ReflectionKind.Method | ReflectionKind.Class)) continue;
    one.type?.visit(
      makeRecursiveVisitor({
        reference({ reflection }) {
          if (!reflection?.name.endsWith("Options")) return;
          takers.set(reflection, (takers.get(reflection) ?? /* @__PURE__ */ new Set()).add(taker));
        }
      })
    );
  }
  return takers;
}
function plain(project) {
  const visitor = makeRecursiveVisitor({
    reference(type) {
      if (type.reflection === void 0 && (type.typeArguments?.length ?? 0) > 4) delete type.typeArguments;
    }
  });
  for (const one of Object.values(project.reflections)) {
    if (one instanceof ParameterReflection) one.type?.visit(visitor);
    if (!(one instanceof DeclarationReflection || one instanceof SignatureReflection)) continue;
    one.type?.visit(visitor);
    delete one.inheritedFrom;
    delete one.overwrites;
    delete one.implementationOf;
    if (one instanceof SignatureReflection || one.typeHierarchy === void 0) continue;
    const { types, next, isTarget } = one.typeHierarchy;
    const bases = isTarget ? [] : types.filter((base) => hasEntry(base) || isForeign(base));
    if (bases.length === 0) delete one.typeHierarchy;
    else one.typeHierarchy = { types: bases, next: { types: next?.types ?? [], isTarget: true } };
  }
}
var hasEntry = (type) => !(type instanceof ReferenceType) || type.reflection !== void 0;
var isForeign = (type) => type instanceof ReferenceType && !/^sluice(-\w+)?$/.test(type.package ?? "");
function order(project) {
  for (const module of project.children ?? [])
    for (const group of module.groups ?? [])
      group.children.sort((a, b) => a.name.localeCompare(b.name, "en"));
}

// lib/reference.mjs
var FOLDER = "site/generated/reference";
async function writeReference() {
  const packages = publicPackages();
  const entries = new Map(packages.flatMap(entryPoints));
  const watched = ["site/lib", ...packages.map((name) => `packages/${name}/src`)];
  const stamp = `${watched.map((folder2) => newest(join4(root, folder2))).join(" ")} ${[...entries.keys()].join()}`;
  const stampFile = join4(root, FOLDER, ".stamp");
  if (!existsSync3(stampFile) || readFileSync2(stampFile, "utf8") !== stamp) {
    await generate(packages, entries);
    writeFileSync3(stampFile, stamp);
  }
  return [`${FOLDER}/index.md`, ...[...entries.keys()].map(pageOf2)];
}
var pageOf2 = (entry2) => `${FOLDER}/${entry2}.md`;
var manifestOf = (folder2) => JSON.parse(textOf(`packages/${folder2}/package.json`));
function publicPackages() {
  const folders = readdirSync3(join4(root, "packages")).filter((folder2) => !manifestOf(folder2).private);
  return ["sluice", ...folders.filter((folder2) => folder2 !== "sluice")];
}
function entryPoints(folder2) {
  const { name, exports } = manifestOf(folder2);
  return Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === "string") return [];
    const source = target.default.replace("./dist/", `packages/${folder2}/src/`).replace(/\.js$/, ".ts");
    return [[path.replace(".", name), join4(root, source)]];
  });
}
function exportedNames(folder2) {
  const { name } = manifestOf(folder2);
  const exports = JSON.parse(textOf(`packages/${folder2}/exports.json`));
  return Object.entries(exports).map(([path, { values, types }]) => [
    path.replace(".", name),
    [...values, ...types]
  ]);
}
async function generate(packages, entries) {
  const out = join4(root, FOLDER);
  rmSync(out, { recursive: true, force: true });
  const app = await Application.bootstrapWithPlugins(
    /** @type {Partial<import('typedoc').TypeDocOptions>} */
    {
      ...OPTIONS,
      entryPoints: [...entries.values()],
      tsconfig: join4(root, "site/tsconfig.reference.json"),
      // Packages import each other's sources, so that each type has one entry.
      compilerOptions: {
        paths: Object.fromEntries([...entries].map(([name, file]) => [name, [file]]))
      },
      outputs: [{ name: "markdown", path: out }]
    }
  );
  keepNames(app.converter);
  const aliases = aliasTexts(app.converter);
  const files2 = new Map([...entries].map(([name, file]) => [file.replaceAll("\\", "/"), name]));
  const names = [...entries.keys()];
  const points = (app.getEntryPoints() ?? []).map((point) => ({ ...point, displayName: files2.get(point.sourceFile.fileName) ?? point.displayName })).sort((a, b) => names.indexOf(a.displayName) - names.indexOf(b.displayName));
  const project = app.converter.convert(points);
  describe(project, new Map([...entries].map(([name, file]) => [name, headOf(file)])));
  for (const folder2 of packages) {
    project.packageName = manifestOf(folder2).name;
    app.validate(project);
  }
  const unsaid = silent(project);
  if (unsaid.length > 0) app.logger.error(`no comment: ${unsaid.join(", ")}`);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error("the reference is incomplete");
  plain(project);
  order(project);
  await app.generateOutputs(project);
  const pages = /* @__PURE__ */ new Map();
  for (const name of names) {
    const page = tidied(textOf(pageOf2(name)), aliases.get(name) ?? /* @__PURE__ */ new Map());
    writeFileSync3(join4(root, pageOf2(name)), page);
    pages.set(name, page);
  }
  const faults = faultsOf(pages, new Map(packages.flatMap(exportedNames)));
  if (faults.length > 0) throw new Error(`the reference is incomplete:
${faults.join("\n")}`);
  writeFileSync3(join4(out, "index.md"), indexOf(names));
}
function indexOf(names) {
  const rows = names.map((name) => `| [\`${name}\`](${name}.md) | ${summaryOf(textOf(pageOf2(name)))} |`);
  return [
    "# Reference",
    "",
    "Every exported name with its type and description, one page per import path.",
    "",
    "| import | |",
    "|---|---|",
    ...rows,
    ""
  ].join("\n");
}
function headOf(file) {
  const [, comment = ""] = /^\/\*\*([\s\S]*?)\*\//.exec(readFileSync2(file, "utf8")) ?? [];
  return comment.replaceAll(/^ *\* ?/gm, "").trim();
}
function newest(folder2) {
  let latest = 0;
  for (const entry2 of readdirSync3(folder2, { recursive: true, withFileTypes: true }))
    if (entry2.isFile()) latest = Math.max(latest, statSync2(join4(entry2.parentPath, entry2.name)).mtimeMs);
  return latest;
}

// .vitepress/config.mjs
var title = "Sluice";
var description = "A rate limiter for TypeScript: ten algorithms, several limits decided together, the same answers in memory and in Redis.";
var sections = sidebar(await writeReference());
var files = /* @__PURE__ */ new Set();
var ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M4 6h4v20H4zM24 6h4v20h-4z" fill="#57606a"/><path d="M9 10h14v4H9z" fill="#0969da"/><path d="M9 20h14v2H9zM9 24h14v2H9z" fill="#58a6ff"/></svg>`;
var config_default = defineConfig({
  title,
  description,
  lang: "en",
  srcDir: "..",
  outDir: "dist",
  cacheDir: "../.build/site-cache",
  srcExclude: EXCLUDED,
  rewrites: addressOf,
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  markdown: {
    anchor: { slugify: slugOf },
    config: (md) => repositoryMarkdown(md, files)
  },
  vite: {
    publicDir: false,
    server: { watch: { ignored: ["**/.build/**", "**/coverage/**", "**/dist/**", "**/test-artefacts/**"] } },
    build: { chunkSizeWarningLimit: 3e3, reportCompressedSize: false }
  },
  transformPageData({ filePath, frontmatter }) {
    if (filePath.startsWith("site/generated/")) frontmatter["outline"] = 2;
    if (frontmatter["layout"] === "home") return {};
    return { description: summaryOf(textOf(filePath)) };
  },
  buildEnd({ outDir, site, pages }) {
    copyFiles(files, outDir);
    writeLlms({ outDir, base: site.base, pages, sections, title, summary: description });
  },
  themeConfig: {
    sidebar: sections,
    nav: [
      { text: "Start", link: "/start" },
      { text: "Which algorithm", link: "/choose" },
      { text: "Guides", link: "/guides/login-protection" },
      { text: "Reference", link: "/reference/sluice" },
      { text: "Benchmarks", link: "/benchmarks" }
    ],
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        // The search index needs only text, so code is not highlighted.
        _render(text, env, md) {
          md.options.highlight = (code) => `<pre>${md.utils.escapeHtml(code)}</pre>`;
          return md.render(text, env);
        }
      }
    },
    docFooter: { prev: "Previous", next: "Next" },
    footer: { message: "MIT license" }
  }
});
export {
  config_default as default
};
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsiLnZpdGVwcmVzcy9jb25maWcubWpzIiwgImxpYi9sbG1zLm1qcyIsICJsaWIvbWFya2Rvd24ubWpzIiwgImxpYi9wYWdlcy5tanMiLCAibGliL2NoYXJ0cy5tanMiLCAibGliL3JlZmVyZW5jZS5tanMiLCAibGliL3JlZmVyZW5jZS1jaGVjay5tanMiLCAibGliL3JlZmVyZW5jZS1mb3JtLm1qcyIsICJsaWIvcmVmZXJlbmNlLW1vZGVsLm1qcyJdLAogICJzb3VyY2VzQ29udGVudCI6IFsiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi90bXAvd3QvbWFjaGluZXJ5L3NpdGUvLnZpdGVwcmVzc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3RtcC93dC9tYWNoaW5lcnkvc2l0ZS8udml0ZXByZXNzL2NvbmZpZy5tanNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3RtcC93dC9tYWNoaW5lcnkvc2l0ZS8udml0ZXByZXNzL2NvbmZpZy5tanNcIjsvLyBAdHMtY2hlY2tcbi8qKiBQYWdlcyBzdGF5IHdoZXJlIHRoZXkgYXJlIGluIHRoZSByZXBvc2l0b3J5LiBsaWIvcGFnZXMubWpzIHNlbGVjdHMgdGhlbSBhbmQgbWFwcyB0aGVtIHRvIGFkZHJlc3Nlcy4gKi9cblxuaW1wb3J0IHsgZGVmaW5lQ29uZmlnIH0gZnJvbSAndml0ZXByZXNzJztcbmltcG9ydCB7IHN1bW1hcnlPZiwgd3JpdGVMbG1zIH0gZnJvbSAnLi4vbGliL2xsbXMubWpzJztcbmltcG9ydCB7IGNvcHlGaWxlcywgcmVwb3NpdG9yeU1hcmtkb3duLCBzbHVnT2YgfSBmcm9tICcuLi9saWIvbWFya2Rvd24ubWpzJztcbmltcG9ydCB7IGFkZHJlc3NPZiwgRVhDTFVERUQsIHNpZGViYXIsIHRleHRPZiB9IGZyb20gJy4uL2xpYi9wYWdlcy5tanMnO1xuaW1wb3J0IHsgd3JpdGVSZWZlcmVuY2UgfSBmcm9tICcuLi9saWIvcmVmZXJlbmNlLm1qcyc7XG5cbmNvbnN0IHRpdGxlID0gJ1NsdWljZSc7XG5jb25zdCBkZXNjcmlwdGlvbiA9XG4gICdBIHJhdGUgbGltaXRlciBmb3IgVHlwZVNjcmlwdDogdGVuIGFsZ29yaXRobXMsIHNldmVyYWwgbGltaXRzIGRlY2lkZWQgdG9nZXRoZXIsIHRoZSBzYW1lIGFuc3dlcnMgaW4gbWVtb3J5IGFuZCBpbiBSZWRpcy4nO1xuY29uc3Qgc2VjdGlvbnMgPSBzaWRlYmFyKGF3YWl0IHdyaXRlUmVmZXJlbmNlKCkpO1xuLyoqIEB0eXBlIHtTZXQ8c3RyaW5nPn0gKi9cbmNvbnN0IGZpbGVzID0gbmV3IFNldCgpO1xuXG5jb25zdCBJQ09OID0gYDxzdmcgeG1sbnM9XCJodHRwOi8vd3d3LnczLm9yZy8yMDAwL3N2Z1wiIHZpZXdCb3g9XCIwIDAgMzIgMzJcIj48cGF0aCBkPVwiTTQgNmg0djIwSDR6TTI0IDZoNHYyMGgtNHpcIiBmaWxsPVwiIzU3NjA2YVwiLz48cGF0aCBkPVwiTTkgMTBoMTR2NEg5elwiIGZpbGw9XCIjMDk2OWRhXCIvPjxwYXRoIGQ9XCJNOSAyMGgxNHYySDl6TTkgMjRoMTR2Mkg5elwiIGZpbGw9XCIjNThhNmZmXCIvPjwvc3ZnPmA7XG5cbmV4cG9ydCBkZWZhdWx0IGRlZmluZUNvbmZpZyh7XG4gIHRpdGxlLFxuICBkZXNjcmlwdGlvbixcbiAgbGFuZzogJ2VuJyxcbiAgc3JjRGlyOiAnLi4nLFxuICBvdXREaXI6ICdkaXN0JyxcbiAgY2FjaGVEaXI6ICcuLi8uYnVpbGQvc2l0ZS1jYWNoZScsXG4gIHNyY0V4Y2x1ZGU6IEVYQ0xVREVELFxuICByZXdyaXRlczogYWRkcmVzc09mLFxuICBoZWFkOiBbWydsaW5rJywgeyByZWw6ICdpY29uJywgaHJlZjogYGRhdGE6aW1hZ2Uvc3ZnK3htbCwke2VuY29kZVVSSUNvbXBvbmVudChJQ09OKX1gIH1dXSxcbiAgbWFya2Rvd246IHtcbiAgICBhbmNob3I6IHsgc2x1Z2lmeTogc2x1Z09mIH0sXG4gICAgY29uZmlnOiAobWQpID0+IHJlcG9zaXRvcnlNYXJrZG93bihtZCwgZmlsZXMpLFxuICB9LFxuICB2aXRlOiB7XG4gICAgcHVibGljRGlyOiBmYWxzZSxcbiAgICBzZXJ2ZXI6IHsgd2F0Y2g6IHsgaWdub3JlZDogWycqKi8uYnVpbGQvKionLCAnKiovY292ZXJhZ2UvKionLCAnKiovZGlzdC8qKicsICcqKi90ZXN0LWFydGVmYWN0cy8qKiddIH0gfSxcbiAgICBidWlsZDogeyBjaHVua1NpemVXYXJuaW5nTGltaXQ6IDMwMDAsIHJlcG9ydENvbXByZXNzZWRTaXplOiBmYWxzZSB9LFxuICB9LFxuICB0cmFuc2Zvcm1QYWdlRGF0YSh7IGZpbGVQYXRoLCBmcm9udG1hdHRlciB9KSB7XG4gICAgaWYgKGZpbGVQYXRoLnN0YXJ0c1dpdGgoJ3NpdGUvZ2VuZXJhdGVkLycpKSBmcm9udG1hdHRlclsnb3V0bGluZSddID0gMjtcbiAgICBpZiAoZnJvbnRtYXR0ZXJbJ2xheW91dCddID09PSAnaG9tZScpIHJldHVybiB7fTtcbiAgICByZXR1cm4geyBkZXNjcmlwdGlvbjogc3VtbWFyeU9mKHRleHRPZihmaWxlUGF0aCkpIH07XG4gIH0sXG4gIGJ1aWxkRW5kKHsgb3V0RGlyLCBzaXRlLCBwYWdlcyB9KSB7XG4gICAgY29weUZpbGVzKGZpbGVzLCBvdXREaXIpO1xuICAgIHdyaXRlTGxtcyh7IG91dERpciwgYmFzZTogc2l0ZS5iYXNlLCBwYWdlcywgc2VjdGlvbnMsIHRpdGxlLCBzdW1tYXJ5OiBkZXNjcmlwdGlvbiB9KTtcbiAgfSxcbiAgdGhlbWVDb25maWc6IHtcbiAgICBzaWRlYmFyOiBzZWN0aW9ucyxcbiAgICBuYXY6IFtcbiAgICAgIHsgdGV4dDogJ1N0YXJ0JywgbGluazogJy9zdGFydCcgfSxcbiAgICAgIHsgdGV4dDogJ1doaWNoIGFsZ29yaXRobScsIGxpbms6ICcvY2hvb3NlJyB9LFxuICAgICAgeyB0ZXh0OiAnR3VpZGVzJywgbGluazogJy9ndWlkZXMvbG9naW4tcHJvdGVjdGlvbicgfSxcbiAgICAgIHsgdGV4dDogJ1JlZmVyZW5jZScsIGxpbms6ICcvcmVmZXJlbmNlL3NsdWljZScgfSxcbiAgICAgIHsgdGV4dDogJ0JlbmNobWFya3MnLCBsaW5rOiAnL2JlbmNobWFya3MnIH0sXG4gICAgXSxcbiAgICBvdXRsaW5lOiBbMiwgM10sXG4gICAgc2VhcmNoOiB7XG4gICAgICBwcm92aWRlcjogJ2xvY2FsJyxcbiAgICAgIG9wdGlvbnM6IHtcbiAgICAgICAgLy8gVGhlIHNlYXJjaCBpbmRleCBuZWVkcyBvbmx5IHRleHQsIHNvIGNvZGUgaXMgbm90IGhpZ2hsaWdodGVkLlxuICAgICAgICBfcmVuZGVyKHRleHQsIGVudiwgbWQpIHtcbiAgICAgICAgICBtZC5vcHRpb25zLmhpZ2hsaWdodCA9IChjb2RlKSA9PiBgPHByZT4ke21kLnV0aWxzLmVzY2FwZUh0bWwoY29kZSl9PC9wcmU+YDtcbiAgICAgICAgICByZXR1cm4gbWQucmVuZGVyKHRleHQsIGVudik7XG4gICAgICAgIH0sXG4gICAgICB9LFxuICAgIH0sXG4gICAgZG9jRm9vdGVyOiB7IHByZXY6ICdQcmV2aW91cycsIG5leHQ6ICdOZXh0JyB9LFxuICAgIGZvb3RlcjogeyBtZXNzYWdlOiAnTUlUIGxpY2Vuc2UnIH0sXG4gIH0sXG59KTtcbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3RtcC93dC9tYWNoaW5lcnkvc2l0ZS9saWJcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZmlsZW5hbWUgPSBcIi90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL2xsbXMubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL2xsbXMubWpzXCI7Ly8gQHRzLWNoZWNrXG4vKiogV3JpdGVzIGV2ZXJ5IHBhZ2UgYXMgTWFya2Rvd24gYmVzaWRlIGl0cyBIVE1MLCBhbiBpbmRleCBvZiB0aGVtIChsbG1zLnR4dCksIGFuZCBhbGwgb2YgdGhlbSBhcyBvbmUgZmlsZSAobGxtcy1mdWxsLnR4dCkuICovXG5cbmltcG9ydCB7IG1rZGlyU3luYywgd3JpdGVGaWxlU3luYyB9IGZyb20gJ25vZGU6ZnMnO1xuaW1wb3J0IHsgZGlybmFtZSwgam9pbiB9IGZyb20gJ25vZGU6cGF0aCc7XG5pbXBvcnQgeyB0YXJnZXRPZiB9IGZyb20gJy4vbWFya2Rvd24ubWpzJztcbmltcG9ydCB7IGFkZHJlc3NPZiwgdGV4dE9mIH0gZnJvbSAnLi9wYWdlcy5tanMnO1xuXG4vKiogQHR5cGVkZWYge3sgdGV4dDogc3RyaW5nLCBpdGVtczogcmVhZG9ubHkgeyB0ZXh0OiBzdHJpbmcsIGxpbms6IHN0cmluZyB9W10gfX0gU2VjdGlvbiAqL1xuXG4vKiogQHBhcmFtIHt7IG91dERpcjogc3RyaW5nLCBiYXNlOiBzdHJpbmcsIHBhZ2VzOiByZWFkb25seSBzdHJpbmdbXSwgc2VjdGlvbnM6IHJlYWRvbmx5IFNlY3Rpb25bXSwgdGl0bGU6IHN0cmluZywgc3VtbWFyeTogc3RyaW5nIH19IHNpdGUgKi9cbmV4cG9ydCBmdW5jdGlvbiB3cml0ZUxsbXMoeyBvdXREaXIsIGJhc2UsIHBhZ2VzLCBzZWN0aW9ucywgdGl0bGUsIHN1bW1hcnkgfSkge1xuICBjb25zdCB0ZXh0cyA9IG5ldyBNYXAocGFnZXMubWFwKChwYWdlKSA9PiBbYC8ke2FkZHJlc3NPZihwYWdlKX1gLCBtYXJrZG93bk9mKHBhZ2UsIGJhc2UpXSkpO1xuICBmb3IgKGNvbnN0IFthZGRyZXNzLCB0ZXh0XSBvZiB0ZXh0cykgd3JpdGUoam9pbihvdXREaXIsIGFkZHJlc3MpLCB0ZXh0KTtcblxuICBjb25zdCBsaW5lcyA9IFtgIyAke3RpdGxlfWAsICcnLCBgPiAke3N1bW1hcnl9YF07XG4gIGZvciAoY29uc3QgeyB0ZXh0LCBpdGVtcyB9IG9mIHNlY3Rpb25zKSB7XG4gICAgbGluZXMucHVzaCgnJywgYCMjICR7dGV4dH1gLCAnJyk7XG4gICAgZm9yIChjb25zdCBpdGVtIG9mIGl0ZW1zKSB7XG4gICAgICBjb25zdCBzdW1tYXJ5ID0gc3VtbWFyeU9mKHRleHRzLmdldChpdGVtLmxpbmspID8/ICcnKTtcbiAgICAgIGxpbmVzLnB1c2goYC0gWyR7aXRlbS50ZXh0fV0oJHtiYXNlfSR7aXRlbS5saW5rLnNsaWNlKDEpfSkke3N1bW1hcnkgJiYgYDogJHtzdW1tYXJ5fWB9YCk7XG4gICAgfVxuICB9XG4gIHdyaXRlKGpvaW4ob3V0RGlyLCAnbGxtcy50eHQnKSwgYCR7bGluZXMuam9pbignXFxuJyl9XFxuYCk7XG5cbiAgY29uc3Qgb3JkZXIgPSBzZWN0aW9ucy5mbGF0TWFwKCh7IGl0ZW1zIH0pID0+IGl0ZW1zLm1hcCgoeyBsaW5rIH0pID0+IHRleHRzLmdldChsaW5rKSA/PyAnJykpO1xuICB3cml0ZShqb2luKG91dERpciwgJ2xsbXMtZnVsbC50eHQnKSwgb3JkZXIuam9pbignXFxuXFxuLS0tXFxuXFxuJykpO1xufVxuXG4vKiogQSBzaG9ydGVyIHNlbnRlbmNlLCBzdWNoIGFzICdLb2EgMiBhbmQgMy4nLCBzYXlzIHRvbyBsaXR0bGUgYnkgaXRzZWxmLCBpbiBjaGFyYWN0ZXJzLiAqL1xuY29uc3QgU0hPUlQgPSAyNTtcblxuLyoqXG4gKiBUaGUgc3VtbWFyeSBvZiBhIHBhZ2UgYXMgcGxhaW4gdGV4dDogdGhlIGZpcnN0IHNlbnRlbmNlIGJlbG93IGl0cyBoZWFkaW5nLCBvciB0aGUgcGFydCBvZiB0aGUgaGVhZGluZyBhZnRlciBhIGNvbG9uLlxuICogQHBhcmFtIHtzdHJpbmd9IHRleHRcbiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHN1bW1hcnlPZih0ZXh0KSB7XG4gIGNvbnN0IGJvZHkgPSB0ZXh0LnJlcGxhY2UoL14tLS1cXG5bXFxzXFxTXSo/XFxuLS0tXFxuLywgJycpLnJlcGxhY2UoL15gYGBbXFxzXFxTXSo/XmBgYCQvZ20sICcnKTtcbiAgY29uc3QgWywgYWJvdXRdID0gL14jIFteXFxuOl0rOiAoLispJC9tLmV4ZWMoYm9keSkgPz8gW107XG4gIGNvbnN0IFtsZWFkID0gJyddID0gYm9keS5zcGxpdCgvXiMjIC9tKTtcbiAgY29uc3QgcGFyYWdyYXBoID1cbiAgICBwcm9zZU9mKGxlYWQpID8/IChhYm91dCAmJiBgJHthYm91dC5jaGFyQXQoMCkudG9VcHBlckNhc2UoKX0ke2Fib3V0LnNsaWNlKDEpfS5gKSA/PyBwcm9zZU9mKGJvZHkpO1xuICByZXR1cm4gZmlyc3RTZW50ZW5jZShwYXJhZ3JhcGggPz8gJycpO1xufVxuXG4vKiogVGhlIGZpcnN0IHBhcmFncmFwaCB0aGF0IGlzIG5vdCBhIGhlYWRpbmcsIGxpc3QsIHRhYmxlLCBxdW90YXRpb24sIHBpY3R1cmUgb3IgY29kZSBibG9jay4gQHBhcmFtIHtzdHJpbmd9IHRleHQgKi9cbmZ1bmN0aW9uIHByb3NlT2YodGV4dCkge1xuICBjb25zdCBwYXJhZ3JhcGhzID0gdGV4dC5zcGxpdCgvXFxuXFxzKlxcbi8pLm1hcCgocGFydCkgPT4gcGFydC5yZXBsYWNlKC9eXFxzKlxcbi8sICcnKSk7XG4gIHJldHVybiBwYXJhZ3JhcGhzLm1hcCgocGFydCkgPT4gcGFydC5yZXBsYWNlKC9eIy4qXFxuPy8sICcnKSkuZmluZCgocGFydCkgPT4gL15bXlxccyM+fCE8XFwtKlxcZF0vLnRlc3QocGFydCkpO1xufVxuXG4vKiogQHBhcmFtIHtzdHJpbmd9IG1hcmtkb3duICovXG5mdW5jdGlvbiBmaXJzdFNlbnRlbmNlKG1hcmtkb3duKSB7XG4gIC8qKiBDb2RlIGlzIHJlcGxhY2VkIGJ5IHBsYWNlaG9sZGVycywgYmVjYXVzZSBhIHBlcmlvZCBpbiBpdCBkb2VzIG5vdCBlbmQgYSBzZW50ZW5jZS4gQHR5cGUge3N0cmluZ1tdfSAqL1xuICBjb25zdCBjb2RlcyA9IFtdO1xuICBjb25zdCBwbGFpbiA9IG1hcmtkb3duXG4gICAgLnJlcGxhY2VBbGwoL2AoW15gXSspYC9nLCAoXywgY29kZSkgPT4gYFxcMCR7Y29kZXMucHVzaChjb2RlKSAtIDF9XFwwYClcbiAgICAucmVwbGFjZUFsbCgvIT9cXFsoW15cXF1dKilcXF1cXChbXildKlxcKS9nLCAnJDEnKVxuICAgIC5yZXBsYWNlQWxsKCcqJywgJycpXG4gICAgLnJlcGxhY2VBbGwoL1xccysvZywgJyAnKVxuICAgIC50cmltKClcbiAgICAvLyBUaGUgc2VudGVuY2UgaW50cm9kdWNlZCBhIGxpc3Qgb3IgYSB0YWJsZS5cbiAgICAucmVwbGFjZSgvOiQvLCAnLicpO1xuICBjb25zdCBzZW50ZW5jZXMgPSBwbGFpbi5tYXRjaCgvLis/Wy4/IV0oPz0gfCQpL2cpID8/IFtwbGFpbl07XG4gIGNvbnN0IFtmaXJzdCA9ICcnLCBzZWNvbmQgPSAnJ10gPSBzZW50ZW5jZXM7XG4gIGNvbnN0IHN1bW1hcnkgPSBmaXJzdC5sZW5ndGggPCBTSE9SVCA/IGZpcnN0ICsgc2Vjb25kIDogZmlyc3Q7XG4gIHJldHVybiBzdW1tYXJ5LnJlcGxhY2VBbGwoL1xcMChcXGQrKVxcMC9nLCAoXywgaSkgPT4gY29kZXNbaV0gPz8gJycpO1xufVxuXG4vKiogVGhlIHRleHQgb2YgYSBwYWdlLCB3aXRoIGxpbmtzIHRoYXQgd29yayBvbiB0aGUgc2l0ZS4gQHBhcmFtIHtzdHJpbmd9IHBhZ2UgQHBhcmFtIHtzdHJpbmd9IGJhc2UgKi9cbmZ1bmN0aW9uIG1hcmtkb3duT2YocGFnZSwgYmFzZSkge1xuICAvLyBQaWN0dXJlcyBhcmUgbm90IGNvcGllZC5cbiAgcmV0dXJuIHRleHRPZihwYWdlKS5yZXBsYWNlQWxsKC8oPzwhIVxcW1teXFxdXSopXFxdXFwoKFteKVxcc10rKVxcKS9nLCAoYWxsLCBocmVmKSA9PiB7XG4gICAgY29uc3QgdGFyZ2V0ID0gdGFyZ2V0T2YocGFnZSwgaHJlZik7XG4gICAgcmV0dXJuIHRhcmdldCA9PT0gdW5kZWZpbmVkID8gYWxsIDogYF0oJHtiYXNlfSR7dGFyZ2V0LmhyZWYuc2xpY2UoMSl9KWA7XG4gIH0pO1xufVxuXG4vKiogQHBhcmFtIHtzdHJpbmd9IGZpbGUgQHBhcmFtIHtzdHJpbmd9IHRleHQgKi9cbmZ1bmN0aW9uIHdyaXRlKGZpbGUsIHRleHQpIHtcbiAgbWtkaXJTeW5jKGRpcm5hbWUoZmlsZSksIHsgcmVjdXJzaXZlOiB0cnVlIH0pO1xuICB3cml0ZUZpbGVTeW5jKGZpbGUsIHRleHQpO1xufVxuIiwgImNvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9kaXJuYW1lID0gXCIvdG1wL3d0L21hY2hpbmVyeS9zaXRlL2xpYlwiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3RtcC93dC9tYWNoaW5lcnkvc2l0ZS9saWIvbWFya2Rvd24ubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL21hcmtkb3duLm1qc1wiOy8vIEB0cy1jaGVja1xuLyoqXG4gKiBQYWdlcyBhcmUgd3JpdHRlbiBmb3IgcmVhZGVycyBvbiBHaXRIdWI6IGxpbmtzIGFyZSBwYXRocyBiZXR3ZWVuIGZpbGVzLCBhbmQgYW5jaG9ycyBhcmUgR2l0SHViJ3MuIFRoaXMgbW9kdWxlIHR1cm5zIHRoZW0gaW50b1xuICogYWRkcmVzc2VzIG9mIHRoZSBzaXRlLiBBIGxpbmsgdG8gYSBmaWxlIHRoYXQgaXMgbm90IGEgcGFnZSBsZWFkcyB0byBhIGNvcHkgb2YgaXQgYXMgdGV4dCwgYW5kIGEgbGluayB0byBhIGZvbGRlciBsZWFkcyB0byBhIGxpc3RcbiAqIG9mIGl0cyBmaWxlcy5cbiAqL1xuXG5pbXBvcnQgeyBjcFN5bmMsIGV4aXN0c1N5bmMsIG1rZGlyU3luYywgcmVhZGRpclN5bmMsIHN0YXRTeW5jLCB3cml0ZUZpbGVTeW5jIH0gZnJvbSAnbm9kZTpmcyc7XG5pbXBvcnQgeyBkaXJuYW1lLCBqb2luLCByZWxhdGl2ZSwgcmVzb2x2ZSB9IGZyb20gJ25vZGU6cGF0aCc7XG5pbXBvcnQgeyBjaGFydE9mIH0gZnJvbSAnLi9jaGFydHMubWpzJztcbmltcG9ydCB7IGFkZHJlc3NPZiwgcm9vdCB9IGZyb20gJy4vcGFnZXMubWpzJztcblxuLyoqIEB0eXBlZGVmIHtQYXJhbWV0ZXJzPE5vbk51bGxhYmxlPGltcG9ydCgndml0ZXByZXNzJykuTWFya2Rvd25PcHRpb25zWydjb25maWcnXT4+WzBdfSBSZW5kZXJlciAqL1xuXG4vKiogVGhlIGFuY2hvciB0aGF0IEdpdEh1YiBnaXZlcyB0byBhIGhlYWRpbmcuIEBwYXJhbSB7c3RyaW5nfSBoZWFkaW5nICovXG5leHBvcnQgZnVuY3Rpb24gc2x1Z09mKGhlYWRpbmcpIHtcbiAgcmV0dXJuIGhlYWRpbmdcbiAgICAudHJpbSgpXG4gICAgLnRvTG93ZXJDYXNlKClcbiAgICAucmVwbGFjZUFsbCgvW15cXHB7TH1cXHB7Tn0gXy1dL2d1LCAnJylcbiAgICAucmVwbGFjZUFsbCgnICcsICctJyk7XG59XG5cbi8qKiBUaGUgdGFyZ2V0IG9mIGEgbGluayBpbiBhIHBhZ2UsIG9yIHVuZGVmaW5lZCBpZiB0aGUgbGluayBzdGF5cyB1bmNoYW5nZWQuIEBwYXJhbSB7c3RyaW5nfSBwYWdlIEBwYXJhbSB7c3RyaW5nfSBocmVmICovXG5leHBvcnQgZnVuY3Rpb24gdGFyZ2V0T2YocGFnZSwgaHJlZikge1xuICBpZiAoL14oW2Etel0rOnxcXC98IykvaS50ZXN0KGhyZWYpKSByZXR1cm4gdW5kZWZpbmVkO1xuICBjb25zdCBbcGF0aCA9ICcnLCBhbmNob3JdID0gaHJlZi5zcGxpdCgnIycpO1xuICBjb25zdCBmaWxlID0gcmVsYXRpdmUocm9vdCwgcmVzb2x2ZShyb290LCBkaXJuYW1lKHBhZ2UpLCBwYXRoKSkucmVwbGFjZUFsbCgnXFxcXCcsICcvJyk7XG4gIGNvbnN0IHN1ZmZpeCA9IGFuY2hvciA9PT0gdW5kZWZpbmVkID8gJycgOiBgIyR7YW5jaG9yfWA7XG4gIGlmIChmaWxlLmVuZHNXaXRoKCcubWQnKSkgcmV0dXJuIHsgZmlsZSwgaHJlZjogYC8ke2FkZHJlc3NPZihmaWxlKX0ke3N1ZmZpeH1gLCBpc1BhZ2U6IHRydWUgfTtcbiAgaWYgKCFleGlzdHNTeW5jKGpvaW4ocm9vdCwgZmlsZSkpKSB0aHJvdyBuZXcgRXJyb3IoYCR7cGFnZX0gbGlua3MgdG8gJHtocmVmfSwgd2hpY2ggZG9lcyBub3QgZXhpc3RgKTtcbiAgcmV0dXJuIHsgZmlsZSwgaHJlZjogYC9maWxlcy8ke2ZpbGV9LnR4dGAsIGlzUGFnZTogZmFsc2UgfTtcbn1cblxuLyoqIEBwYXJhbSB7UmVuZGVyZXJ9IG1kIEBwYXJhbSB7U2V0PHN0cmluZz59IGZpbGVzIHJlY2VpdmVzIHRoZSBsaW5rZWQgZmlsZXMgdGhhdCBhcmUgbm90IHBhZ2VzICovXG5leHBvcnQgZnVuY3Rpb24gcmVwb3NpdG9yeU1hcmtkb3duKG1kLCBmaWxlcykge1xuICBtZC5jb3JlLnJ1bGVyLnB1c2goJ3JlcG9zaXRvcnktbGlua3MnLCAoc3RhdGUpID0+IHtcbiAgICBjb25zdCBwYWdlID0gcGFnZU9mKHN0YXRlLmVudik7XG4gICAgZm9yIChjb25zdCBibG9jayBvZiBzdGF0ZS50b2tlbnMpXG4gICAgICBmb3IgKGNvbnN0IHRva2VuIG9mIGJsb2NrLmNoaWxkcmVuID8/IFtdKSB7XG4gICAgICAgIGlmICh0b2tlbi50eXBlICE9PSAnbGlua19vcGVuJykgY29udGludWU7XG4gICAgICAgIGNvbnN0IHRhcmdldCA9IHRhcmdldE9mKHBhZ2UsIHRva2VuLmF0dHJHZXQoJ2hyZWYnKSA/PyAnJyk7XG4gICAgICAgIGlmICh0YXJnZXQgPT09IHVuZGVmaW5lZCkgY29udGludWU7XG4gICAgICAgIHRva2VuLmF0dHJTZXQoJ2hyZWYnLCB0YXJnZXQuaHJlZik7XG4gICAgICAgIGlmICghdGFyZ2V0LmlzUGFnZSkgZmlsZXMuYWRkKHRhcmdldC5maWxlKTtcbiAgICAgIH1cbiAgfSk7XG5cbiAgY29uc3QgaHRtbCA9IG1kLnJlbmRlcmVyLnJ1bGVzLmh0bWxfYmxvY2s7XG4gIG1kLnJlbmRlcmVyLnJ1bGVzLmh0bWxfYmxvY2sgPSAodG9rZW5zLCBpbmRleCwgb3B0aW9ucywgZW52LCBzZWxmKSA9PiB7XG4gICAgY29uc3QgY2hhcnQgPSAvXjwhLS0gY2hhcnQ6ICguKykgLS0+XFxzKiQvLmV4ZWModG9rZW5zW2luZGV4XT8uY29udGVudCA/PyAnJyk7XG4gICAgaWYgKGNoYXJ0ICE9PSBudWxsKSByZXR1cm4gY2hhcnRPZihjaGFydFsxXSA/PyAnJyk7XG4gICAgcmV0dXJuIGh0bWwgPT09IHVuZGVmaW5lZCA/ICh0b2tlbnNbaW5kZXhdPy5jb250ZW50ID8/ICcnKSA6IGh0bWwodG9rZW5zLCBpbmRleCwgb3B0aW9ucywgZW52LCBzZWxmKTtcbiAgfTtcbn1cblxuLyoqIEBwYXJhbSB7SXRlcmFibGU8c3RyaW5nPn0gZmlsZXMgQHBhcmFtIHtzdHJpbmd9IG91dERpciAqL1xuZXhwb3J0IGZ1bmN0aW9uIGNvcHlGaWxlcyhmaWxlcywgb3V0RGlyKSB7XG4gIGZvciAoY29uc3QgZmlsZSBvZiBmaWxlcykge1xuICAgIGNvbnN0IHRhcmdldCA9IGpvaW4ob3V0RGlyLCAnZmlsZXMnLCBgJHtmaWxlfS50eHRgKTtcbiAgICBta2RpclN5bmMoZGlybmFtZSh0YXJnZXQpLCB7IHJlY3Vyc2l2ZTogdHJ1ZSB9KTtcbiAgICBpZiAoIXN0YXRTeW5jKGpvaW4ocm9vdCwgZmlsZSkpLmlzRGlyZWN0b3J5KCkpIGNwU3luYyhqb2luKHJvb3QsIGZpbGUpLCB0YXJnZXQpO1xuICAgIGVsc2Ugd3JpdGVGaWxlU3luYyh0YXJnZXQsIGAke3JlYWRkaXJTeW5jKGpvaW4ocm9vdCwgZmlsZSkpLmpvaW4oJ1xcbicpfVxcbmApO1xuICB9XG59XG5cbi8qKiBUaGUgZmlsZSB0aGF0IGlzIGJlaW5nIHJlbmRlcmVkLiBQYWdlcyBoYXZlIGEgcmVhbCBwYXRoOyB0aGUgc2VhcmNoIGluZGV4IGhhcyBvbmx5IG9uZSBwYXRoLiBAcGFyYW0ge1JlY29yZDxzdHJpbmcsIHN0cmluZz59IGVudiAqL1xuZnVuY3Rpb24gcGFnZU9mKGVudikge1xuICByZXR1cm4gcmVsYXRpdmUocm9vdCwgZW52WydyZWFsUGF0aCddID8/IGVudlsncGF0aCddID8/ICcnKS5yZXBsYWNlQWxsKCdcXFxcJywgJy8nKTtcbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3RtcC93dC9tYWNoaW5lcnkvc2l0ZS9saWJcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZmlsZW5hbWUgPSBcIi90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL3BhZ2VzLm1qc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vdG1wL3d0L21hY2hpbmVyeS9zaXRlL2xpYi9wYWdlcy5tanNcIjsvLyBAdHMtY2hlY2tcbi8qKiBXaGljaCBNYXJrZG93biBmaWxlcyBvZiB0aGUgcmVwb3NpdG9yeSBhcmUgcGFnZXMsIHRoZWlyIGFkZHJlc3NlcyBvbiB0aGUgc2l0ZSwgYW5kIHRoZWlyIG9yZGVyIGluIHRoZSBzaWRlYmFyLiAqL1xuXG5pbXBvcnQgeyBleGlzdHNTeW5jLCByZWFkZGlyU3luYywgcmVhZEZpbGVTeW5jIH0gZnJvbSAnbm9kZTpmcyc7XG5pbXBvcnQgeyBkaXJuYW1lLCBqb2luIH0gZnJvbSAnbm9kZTpwYXRoJztcbmltcG9ydCB7IGZpbGVVUkxUb1BhdGggfSBmcm9tICdub2RlOnVybCc7XG5cbmV4cG9ydCBjb25zdCByb290ID0gam9pbihkaXJuYW1lKGZpbGVVUkxUb1BhdGgoaW1wb3J0Lm1ldGEudXJsKSksICcuLi8uLicpO1xuXG4vKiogTm90IHBhZ2VzOiB0aGV5IGFyZSBmb3IgcmVhZGVycyB3aG8gaGF2ZSB0aGUgcmVwb3NpdG9yeS4gKi9cbmV4cG9ydCBjb25zdCBFWENMVURFRCA9IFtcbiAgJ3BhY2thZ2VzL3NsdWljZS9SRUFETUUubWQnLFxuICAnLmdpdGh1Yi8qKicsXG4gICcuY2hhbmdlc2V0LyoqJyxcbiAgJ3BhY2thZ2VzLyovdGVzdC8qKicsXG4gICdwYWNrYWdlcy8qL3Rlc3QtYXJ0ZWZhY3RzLyoqJyxcbiAgJ2JlbmNobWFya3MvKi8qKicsXG4gICdydW50aW1lcy8qKicsXG4gICdjb3ZlcmFnZS8qKicsXG5dO1xuXG4vKiogTWFwcyBhIGZpbGUgdG8gaXRzIHBhZ2UuIFRoZSBmaXJzdCBtYXRjaCBjb3VudHMsIGFuZCBib3RoIGVuZCBpbiAubWQuICovXG5jb25zdCBBRERSRVNTRVMgPSAvKiogQHR5cGUge2NvbnN0fSAqLyAoW1xuICBbL15zaXRlXFwvaW5kZXhcXC5tZCQvLCAnaW5kZXgubWQnXSxcbiAgWy9ec2l0ZVxcL2dlbmVyYXRlZFxcLyguKykkLywgJyQxJ10sXG4gIFsvXlJFQURNRVxcLm1kJC8sICdvdmVydmlldy5tZCddLFxuICBbL15DT05UUklCVVRJTkdcXC5tZCQvLCAnY29udHJpYnV0aW5nL2luZGV4Lm1kJ10sXG4gIFsvXkNIQU5HRUxPR1xcLm1kJC8sICdjaGFuZ2VzLm1kJ10sXG4gIFsvXlNFQ1VSSVRZXFwubWQkLywgJ3NlY3VyaXR5Lm1kJ10sXG4gIFsvXkNPREVfT0ZfQ09ORFVDVFxcLm1kJC8sICdjb250cmlidXRpbmcvY29kZS1vZi1jb25kdWN0Lm1kJ10sXG4gIFsvXmRvY3NcXC8oLitcXC8pP1JFQURNRVxcLm1kJC8sICckMWluZGV4Lm1kJ10sXG4gIFsvXmRvY3NcXC8oLispJC8sICckMSddLFxuICBbL15iZW5jaG1hcmtzXFwvUkVTVUxUU1xcLm1kJC8sICdyZXN1bHRzLm1kJ10sXG4gIFsvXmV4YW1wbGVzXFwvUkVBRE1FXFwubWQkLywgJ2V4YW1wbGVzLm1kJ10sXG4gIFsvXnBhY2thZ2VzXFwvc2x1aWNlXFwvc3JjXFwvKGFsZ29yaXRobXN8c3RvcmVzKVxcLyhbXFx3LV0rKVxcL1JFQURNRVxcLm1kJC8sICckMS8kMi5tZCddLFxuICBbL15wYWNrYWdlc1xcL3NsdWljZVxcL3NyY1xcLyhbXFx3LV0rKVxcL1JFQURNRVxcLm1kJC8sICckMS5tZCddLFxuICBbL15wYWNrYWdlc1xcL3NsdWljZS1zZXJ2ZXJcXC9SRUFETUVcXC5tZCQvLCAnc2VydmVyLm1kJ10sXG4gIFsvXnBhY2thZ2VzXFwvcGxheWdyb3VuZFxcL1JFQURNRVxcLm1kJC8sICdwbGF5Z3JvdW5kLm1kJ10sXG4gIFsvXnBhY2thZ2VzXFwvcGxheWdyb3VuZFxcL0xJVkVcXC5tZCQvLCAnbGl2ZS5tZCddLFxuXSk7XG5cbi8qKiBAcGFyYW0ge3N0cmluZ30gZmlsZSBmcm9tIHRoZSByb290LCB3aXRoIGZvcndhcmQgc2xhc2hlcyAqL1xuZXhwb3J0IGZ1bmN0aW9uIGFkZHJlc3NPZihmaWxlKSB7XG4gIGZvciAoY29uc3QgW2Zyb20sIHRvXSBvZiBBRERSRVNTRVMpIHtcbiAgICBjb25zdCBmb3VuZCA9IGZyb20uZXhlYyhmaWxlKTtcbiAgICBpZiAoZm91bmQgIT09IG51bGwpIHJldHVybiB0by5yZXBsYWNlKC9cXCQoXFxkKS9nLCAoXywgZ3JvdXApID0+IGZvdW5kW051bWJlcihncm91cCldID8/ICcnKTtcbiAgfVxuICByZXR1cm4gZmlsZTtcbn1cblxuLyoqIEBwYXJhbSB7c3RyaW5nfSBmaWxlICovXG5leHBvcnQgY29uc3QgdGV4dE9mID0gKGZpbGUpID0+IHJlYWRGaWxlU3luYyhqb2luKHJvb3QsIGZpbGUpLCAndXRmOCcpO1xuXG4vKiogVGhlIGhlYWRpbmcgb2YgYSBwYWdlLCB3aXRob3V0IGJhY2t0aWNrcy4gQHBhcmFtIHtzdHJpbmd9IGZpbGUgKi9cbmZ1bmN0aW9uIHRpdGxlT2YoZmlsZSkge1xuICByZXR1cm4gKC9eIyAoLispJC9tLmV4ZWModGV4dE9mKGZpbGUpKT8uWzFdID8/IGZpbGUpLnJlcGxhY2VBbGwoJ2AnLCAnJyk7XG59XG5cbi8qKiBAcGFyYW0ge3N0cmluZ30gZmlsZSBAcGFyYW0ge3N0cmluZ30gW3RleHRdICovXG5mdW5jdGlvbiBlbnRyeShmaWxlLCB0ZXh0ID0gdGl0bGVPZihmaWxlKSkge1xuICByZXR1cm4geyB0ZXh0LCBsaW5rOiBgLyR7YWRkcmVzc09mKGZpbGUpfWAgfTtcbn1cblxuLyoqIEBwYXJhbSB7c3RyaW5nfSBmb2xkZXIgQHBhcmFtIHtSZWdFeHB9IHBhdHRlcm4gKi9cbmZ1bmN0aW9uIGZpbGVzSW4oZm9sZGVyLCBwYXR0ZXJuKSB7XG4gIHJldHVybiByZWFkZGlyU3luYyhqb2luKHJvb3QsIGZvbGRlciksIHsgcmVjdXJzaXZlOiB0cnVlLCBlbmNvZGluZzogJ3V0ZjgnIH0pXG4gICAgLm1hcCgobmFtZSkgPT4gbmFtZS5yZXBsYWNlQWxsKCdcXFxcJywgJy8nKSlcbiAgICAuZmlsdGVyKChuYW1lKSA9PiBwYXR0ZXJuLnRlc3QobmFtZSkpXG4gICAgLnNvcnQoKVxuICAgIC5tYXAoKG5hbWUpID0+IGAke2ZvbGRlcn0vJHtuYW1lfWApO1xufVxuXG4vKiogVGhlIHBhZ2VzIG9mIGEgZm9sZGVyOiBmaXJzdCB0aGUgbmFtZWQgb25lcywgaW4gdGhpcyBvcmRlciwgdGhlbiB0aGUgb3RoZXJzLiBAcGFyYW0ge3N0cmluZ30gZm9sZGVyIEBwYXJhbSB7cmVhZG9ubHkgc3RyaW5nW119IGZpcnN0ICovXG5mdW5jdGlvbiBmb2xkZXIoZm9sZGVyLCBmaXJzdCwgcGF0dGVybiA9IC9eKD8hUkVBRE1FKVtcXHctXStcXC5tZCQvKSB7XG4gIGNvbnN0IGZpbGVzID0gZmlsZXNJbihmb2xkZXIsIHBhdHRlcm4pO1xuICBjb25zdCBuYW1lZCA9IGZpcnN0Lm1hcCgobmFtZSkgPT4gYCR7Zm9sZGVyfS8ke25hbWV9Lm1kYCk7XG4gIHJldHVybiBbLi4ubmFtZWQsIC4uLmZpbGVzLmZpbHRlcigoZmlsZSkgPT4gIW5hbWVkLmluY2x1ZGVzKGZpbGUpKV0ubWFwKChmaWxlKSA9PiBlbnRyeShmaWxlKSk7XG59XG5cbmNvbnN0IEdVSURFUyA9IFtcbiAgJ2xvZ2luLXByb3RlY3Rpb24nLFxuICAnYXBpLXRpZXJzJyxcbiAgJ2xsbS10b2tlbnMnLFxuICAnb3V0Ym91bmQtY2FsbHMnLFxuICAnc2V2ZXJhbC1wcm9jZXNzZXMnLFxuICAncmVkaXMtY2x1c3RlcicsXG4gICd3aGVuLXJlZGlzLWlzLWRvd24nLFxuICAnYmVoaW5kLXByb3hpZXMnLFxuICAnaGVhZGVycycsXG4gICd0ZXN0aW5nJyxcbiAgJ21ldHJpY3MnLFxuXTtcblxuY29uc3QgT1RIRVJTID0gWydleGFtcGxlcy9SRUFETUUubWQnLCAnU0VDVVJJVFkubWQnLCAnQ0hBTkdFTE9HLm1kJ107XG5cbi8qKiBAcGFyYW0ge3JlYWRvbmx5IHN0cmluZ1tdfSByZWZlcmVuY2UgdGhlIGdlbmVyYXRlZCBwYWdlcyAqL1xuZXhwb3J0IGZ1bmN0aW9uIHNpZGViYXIocmVmZXJlbmNlKSB7XG4gIGNvbnN0IHNvdXJjZSA9ICdwYWNrYWdlcy9zbHVpY2Uvc3JjJztcbiAgcmV0dXJuIFtcbiAgICB7XG4gICAgICB0ZXh0OiAnU3RhcnQnLFxuICAgICAgaXRlbXM6IFtcbiAgICAgICAgZW50cnkoJ2RvY3Mvc3RhcnQubWQnKSxcbiAgICAgICAgZW50cnkoJ2RvY3MvY2hvb3NlLm1kJyksXG4gICAgICAgIGVudHJ5KCdSRUFETUUubWQnLCAnRXZlcnl0aGluZyBvbiBvbmUgcGFnZScpLFxuICAgICAgICBlbnRyeSgnZG9jcy9ob3ctaXQtd29ya3MubWQnKSxcbiAgICAgIF0sXG4gICAgfSxcbiAgICB7IHRleHQ6ICdHdWlkZXMnLCBpdGVtczogZm9sZGVyKCdkb2NzL2d1aWRlcycsIEdVSURFUykgfSxcbiAgICB7XG4gICAgICB0ZXh0OiAnTWlkZGxld2FyZXMnLFxuICAgICAgaXRlbXM6IFtcbiAgICAgICAgZW50cnkoJ2RvY3MvbWlkZGxld2FyZS9SRUFETUUubWQnLCAnV2hhdCBhbGwgY2FuIGRvJyksXG4gICAgICAgIC4uLmZvbGRlcignZG9jcy9taWRkbGV3YXJlJywgWydleHByZXNzJ10pLFxuICAgICAgXSxcbiAgICB9LFxuICAgIHtcbiAgICAgIHRleHQ6ICdTZXJ2ZXIgYW5kIHBhZ2UnLFxuICAgICAgaXRlbXM6IFtcbiAgICAgICAgZW50cnkoJ3BhY2thZ2VzL3NsdWljZS1zZXJ2ZXIvUkVBRE1FLm1kJywgJ1RoZSBzZXJ2ZXInKSxcbiAgICAgICAgZW50cnkoJ3BhY2thZ2VzL3BsYXlncm91bmQvUkVBRE1FLm1kJyksXG4gICAgICAgIGVudHJ5KCdwYWNrYWdlcy9wbGF5Z3JvdW5kL0xJVkUubWQnKSxcbiAgICAgIF0sXG4gICAgfSxcbiAgICB7XG4gICAgICB0ZXh0OiAnTWlncmF0aW9uJyxcbiAgICAgIGl0ZW1zOiBbZW50cnkoJ2RvY3MvbWlncmF0ZS9SRUFETUUubWQnKSwgLi4uZm9sZGVyKCdkb2NzL21pZ3JhdGUnLCBbXSldLFxuICAgIH0sXG4gICAge1xuICAgICAgdGV4dDogJ0FsZ29yaXRobXMnLFxuICAgICAgY29sbGFwc2VkOiB0cnVlLFxuICAgICAgaXRlbXM6IGZvbGRlcihgJHtzb3VyY2V9L2FsZ29yaXRobXNgLCBbJ2djcmEvUkVBRE1FJ10sIC9eW1xcdy1dK1xcL1JFQURNRVxcLm1kJC8pLFxuICAgIH0sXG4gICAge1xuICAgICAgdGV4dDogJ1N0b3JlcyBhbmQgd3JhcHBlcnMnLFxuICAgICAgY29sbGFwc2VkOiB0cnVlLFxuICAgICAgaXRlbXM6IFtcbiAgICAgICAgLi4uZm9sZGVyKGAke3NvdXJjZX0vc3RvcmVzYCwgWydtZW1vcnkvUkVBRE1FJywgJ3JlZGlzL1JFQURNRSddLCAvXltcXHctXStcXC9SRUFETUVcXC5tZCQvKSxcbiAgICAgICAgLi4uZm9sZGVyKHNvdXJjZSwgW10sIC9eW1xcdy1dK1xcL1JFQURNRVxcLm1kJC8pLFxuICAgICAgXSxcbiAgICB9LFxuICAgIHsgdGV4dDogJ1JlZmVyZW5jZScsIGNvbGxhcHNlZDogdHJ1ZSwgaXRlbXM6IHJlZmVyZW5jZS5tYXAoKGZpbGUpID0+IGVudHJ5KGZpbGUpKSB9LFxuICAgIHtcbiAgICAgIHRleHQ6ICdFcnJvcnMnLFxuICAgICAgY29sbGFwc2VkOiB0cnVlLFxuICAgICAgaXRlbXM6IGZvbGRlcignZG9jcy9lcnJvcnMnLCBbXSksXG4gICAgfSxcbiAgICB7XG4gICAgICB0ZXh0OiAnUHJvamVjdCcsXG4gICAgICBpdGVtczogW1xuICAgICAgICAuLi5mb2xkZXIoJ2RvY3MnLCBbJ2JlbmNobWFya3MnLCAnY29tcGFyaXNvbiddLCAvXig/IXN0YXJ0fGNob29zZXxob3ctaXQtd29ya3MpW1xcdy1dK1xcLm1kJC8pLFxuICAgICAgICBlbnRyeSgnYmVuY2htYXJrcy9SRVNVTFRTLm1kJyksXG4gICAgICAgIC4uLk9USEVSUy5maWx0ZXIoKGZpbGUpID0+IGV4aXN0c1N5bmMoam9pbihyb290LCBmaWxlKSkpLm1hcCgoZmlsZSkgPT4gZW50cnkoZmlsZSkpLFxuICAgICAgXSxcbiAgICB9LFxuICAgIHtcbiAgICAgIHRleHQ6ICdDb250cmlidXRpbmcnLFxuICAgICAgY29sbGFwc2VkOiB0cnVlLFxuICAgICAgaXRlbXM6IFtcbiAgICAgICAgZW50cnkoJ0NPTlRSSUJVVElORy5tZCcpLFxuICAgICAgICAuLi5mb2xkZXIoJ2RvY3MvY29udHJpYnV0aW5nJywgWydhcmNoaXRlY3R1cmUnLCAnYWxnb3JpdGhtcycsICdzdG9yZXMnLCAndGVzdHMnXSksXG4gICAgICAgIGVudHJ5KCdDT0RFX09GX0NPTkRVQ1QubWQnKSxcbiAgICAgIF0sXG4gICAgfSxcbiAgICB7XG4gICAgICB0ZXh0OiAnRGVjaXNpb25zJyxcbiAgICAgIGNvbGxhcHNlZDogdHJ1ZSxcbiAgICAgIGl0ZW1zOiBbZW50cnkoJ2RvY3MvZGVjaXNpb25zL1JFQURNRS5tZCcsICdBbGwnKSwgLi4uZm9sZGVyKCdkb2NzL2RlY2lzaW9ucycsIFtdKV0sXG4gICAgfSxcbiAgXTtcbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3RtcC93dC9tYWNoaW5lcnkvc2l0ZS9saWJcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZmlsZW5hbWUgPSBcIi90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL2NoYXJ0cy5tanNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3RtcC93dC9tYWNoaW5lcnkvc2l0ZS9saWIvY2hhcnRzLm1qc1wiOy8vIEB0cy1jaGVja1xuLyoqXG4gKiBEcmF3cyBiYXIgY2hhcnRzIGZyb20gdGhlIHRhYmxlcyB0aGF0IHRoZSBiZW5jaG1hcmtzIHdyaXRlLiBBIG1hcmtlciBpcyBgc2VjdGlvbiB8IGNvbHVtbiB8IHVuaXRgLiBgY29sdW1uICsgY29sdW1uYCBkcmF3cyBib3RoXG4gKiBjb2x1bW5zIHNpZGUgYnkgc2lkZSwgYW5kIHNvIGRvZXMgYSBjb2x1bW4gd2hvc2UgY2VsbHMgYXJlIGBiZWZvcmUgXHUyMTkyIGFmdGVyYC4gQSBmb3VydGggcGFydCBzZWxlY3RzIHRoZSByb3dzIHdob3NlIG5hbWVzIGJlZ2luIHdpdGggaXQuXG4gKi9cblxuaW1wb3J0IHsgdGV4dE9mIH0gZnJvbSAnLi9wYWdlcy5tanMnO1xuXG4vKiogQHR5cGUge1JlY29yZDxzdHJpbmcsIG51bWJlcj59ICovXG5jb25zdCBVTklUUyA9IHsgazogMWUzLCBNOiAxZTYgfTtcblxuLyoqIFJvd3MgdGhhdCBtZWFzdXJlIFNsdWljZTogYnkgaXRzIG5hbWUsIG9yIGJ5IHRoZSB3YXkgaW4gd2hpY2ggc2V2ZXJhbCBtYWNoaW5lcyBzaGFyZSBhIGxpbWl0LiAqL1xuY29uc3QgT1dOID0gL3NsdWljZXxsZWFzZWR8c3luY2VkfGRlbnlDYWNoZXxkaXJlY3QvaTtcblxuLyoqIEB0eXBlZGVmIHt7IG5hbWU6IHN0cmluZywgc2VyaWVzOiBzdHJpbmcsIHZhbHVlOiBudW1iZXIsIHRleHQ6IHN0cmluZyB9fSBCYXIgKi9cblxuLyoqIEBwYXJhbSB7c3RyaW5nfSBtYXJrZXIgKi9cbmV4cG9ydCBmdW5jdGlvbiBjaGFydE9mKG1hcmtlcikge1xuICBjb25zdCBbc2VjdGlvbiA9ICcnLCBjb2x1bW5zID0gJycsIHVuaXQgPSAnJywgcm93cyA9ICcnXSA9IG1hcmtlci5zcGxpdCgnfCcpLm1hcCgocGFydCkgPT4gcGFydC50cmltKCkpO1xuICBjb25zdCBhbGwgPSBiYXJzT2YodGV4dE9mKCdiZW5jaG1hcmtzL1JFU1VMVFMubWQnKSwgc2VjdGlvbiwgY29sdW1ucy5zcGxpdCgnICsgJykpO1xuICBjb25zdCBiYXJzID0gYWxsLmZpbHRlcigoeyBuYW1lIH0pID0+IG5hbWUuc3RhcnRzV2l0aChyb3dzKSk7XG4gIGlmIChiYXJzLmxlbmd0aCA9PT0gMCkgdGhyb3cgbmV3IEVycm9yKGBiZW5jaG1hcmtzL1JFU1VMVFMubWQgaGFzIG5vIHJvdyAke3Jvd3N9IGluIHNlY3Rpb24gJHtzZWN0aW9ufWApO1xuICByZXR1cm4gZHJhdyhiYXJzLCBgJHtjb2x1bW5zfTogJHt1bml0fWAsIHVuaXQpO1xufVxuXG4vKiogQHBhcmFtIHtzdHJpbmd9IHJlc3VsdHMgQHBhcmFtIHtzdHJpbmd9IHNlY3Rpb24gQHBhcmFtIHtyZWFkb25seSBzdHJpbmdbXX0gY29sdW1ucyBAcmV0dXJucyB7QmFyW119ICovXG5leHBvcnQgZnVuY3Rpb24gYmFyc09mKHJlc3VsdHMsIHNlY3Rpb24sIGNvbHVtbnMpIHtcbiAgY29uc3QgdGV4dCA9IHJlc3VsdHMuc3BsaXQoYDwhLS0gJHtzZWN0aW9ufTpzdGFydCAtLT5gKVsxXT8uc3BsaXQoYDwhLS0gJHtzZWN0aW9ufTplbmQgLS0+YClbMF07XG4gIGZvciAoY29uc3QgdGFibGUgb2YgdGV4dD8ubWF0Y2goLyheXFx8LipcXHxcXG4pKy9nbSkgPz8gW10pIHtcbiAgICBjb25zdCBbaGVhZCA9IFtdLCAsIC4uLnJvd3NdID0gdGFibGUudHJpbSgpLnNwbGl0KCdcXG4nKS5tYXAoY2VsbHNPZik7XG4gICAgY29uc3QgcGxhY2VzID0gY29sdW1ucy5tYXAoKGNvbHVtbikgPT4gaGVhZC5pbmRleE9mKGNvbHVtbikpO1xuICAgIGlmIChwbGFjZXMuaW5jbHVkZXMoLTEpKSBjb250aW51ZTtcbiAgICByZXR1cm4gcm93cy5mbGF0TWFwKChyb3cpID0+XG4gICAgICBwbGFjZXMuZmxhdE1hcCgocGxhY2UsIGkpID0+XG4gICAgICAgIGJhcnNJbihyb3dbMF0gPz8gJycsIHJvd1twbGFjZV0gPz8gJycsIGNvbHVtbnMubGVuZ3RoID4gMSA/IChjb2x1bW5zW2ldID8/ICcnKSA6ICcnKSxcbiAgICAgICksXG4gICAgKTtcbiAgfVxuICB0aHJvdyBuZXcgRXJyb3IoYGJlbmNobWFya3MvUkVTVUxUUy5tZCBoYXMgbm8gY29sdW1uICR7Y29sdW1ucy5qb2luKCcsICcpfSBpbiBzZWN0aW9uICR7c2VjdGlvbn1gKTtcbn1cblxuLyoqIEJvdGggYmFycyBvZiBgYmVmb3JlIFx1MjE5MiBhZnRlcmAsIG9yIG5vbmUgaWYgb25lIHdhcyBub3QgbWVhc3VyZWQuIEBwYXJhbSB7c3RyaW5nfSBuYW1lIEBwYXJhbSB7c3RyaW5nfSBjZWxsIEBwYXJhbSB7c3RyaW5nfSBzZXJpZXMgQHJldHVybnMge0JhcltdfSAqL1xuZnVuY3Rpb24gYmFyc0luKG5hbWUsIGNlbGwsIHNlcmllcykge1xuICBjb25zdCBbYmVmb3JlID0gJycsIGFmdGVyXSA9IGNlbGwuc3BsaXQoJyBcdTIxOTIgJyk7XG4gIGNvbnN0IHBhcnRzID1cbiAgICBhZnRlciA9PT0gdW5kZWZpbmVkXG4gICAgICA/IFt7IHNlcmllcywgdGV4dDogY2VsbCB9XVxuICAgICAgOiBbXG4gICAgICAgICAgeyBzZXJpZXM6ICdiZWZvcmUnLCB0ZXh0OiBiZWZvcmUgfSxcbiAgICAgICAgICB7IHNlcmllczogJ2FmdGVyJywgdGV4dDogYWZ0ZXIgfSxcbiAgICAgICAgXTtcbiAgY29uc3QgYmFycyA9IHBhcnRzLm1hcCgocGFydCkgPT4gKHsgbmFtZSwgLi4ucGFydCwgdmFsdWU6IG51bWJlckluKHBhcnQudGV4dCkgfSkpO1xuICByZXR1cm4gYmFycy5ldmVyeSgoeyB2YWx1ZSB9KSA9PiBOdW1iZXIuaXNGaW5pdGUodmFsdWUpKSA/IGJhcnMgOiBbXTtcbn1cblxuLyoqIEBwYXJhbSB7c3RyaW5nfSB0ZXh0ICovXG5mdW5jdGlvbiBudW1iZXJJbih0ZXh0KSB7XG4gIGNvbnN0IFssIGRpZ2l0cywgdW5pdCA9ICcnXSA9IC9eKFtcXGQuXSspKFtrTV0/KS8uZXhlYyh0ZXh0LnJlcGxhY2VBbGwoJywnLCAnJykpID8/IFtdO1xuICByZXR1cm4gTnVtYmVyKGRpZ2l0cykgKiAoVU5JVFNbdW5pdF0gPz8gMSk7XG59XG5cbi8qKiBAcGFyYW0ge3N0cmluZ30gbGluZSAqL1xuY29uc3QgY2VsbHNPZiA9IChsaW5lKSA9PlxuICBsaW5lXG4gICAgLnNsaWNlKDEsIC0xKVxuICAgIC5zcGxpdCgnfCcpXG4gICAgLm1hcCgoY2VsbCkgPT4gY2VsbC50cmltKCkpO1xuXG4vKiogQHBhcmFtIHtyZWFkb25seSBCYXJbXX0gYmFycyBAcGFyYW0ge3N0cmluZ30gdGl0bGUgQHBhcmFtIHtzdHJpbmd9IHVuaXQgKi9cbmZ1bmN0aW9uIGRyYXcoYmFycywgdGl0bGUsIHVuaXQpIHtcbiAgY29uc3Qgc29ydGVkID0gYmFycy5tYXAoKHsgdmFsdWUgfSkgPT4gdmFsdWUpLnNvcnQoKGEsIGIpID0+IGEgLSBiKTtcbiAgY29uc3QgbWlkZGxlID0gc29ydGVkW3NvcnRlZC5sZW5ndGggPj4gMV0gPz8gMDtcbiAgLy8gQW4gb3V0bGllciB3b3VsZCBtYWtlIGFsbCBvdGhlciBiYXJzIGxvb2sgYWxpa2UsIHNvIGl0IGlzIGN1dCBhbmQgaXRzIGxhYmVsIHNheXMgc28uXG4gIGNvbnN0IGZ1bGwgPSBzb3J0ZWQuZmluZExhc3QoKHZhbHVlKSA9PiB2YWx1ZSA8PSBtaWRkbGUgKiA4KSA/PyBtaWRkbGU7XG4gIGNvbnN0IGlzT25lUm93ID0gYmFycy5ldmVyeSgoeyBuYW1lIH0pID0+IG5hbWUgPT09IGJhcnNbMF0/Lm5hbWUpO1xuICBjb25zdCBraW5kcyA9IGJhcnMubWFwKGtpbmRPZik7XG4gIC8vIElmIG5vIG90aGVyIGxpYnJhcnkgaXMgc2hvd24sIGFsbCBiYXJzIGFyZSBvdXJzLlxuICBjb25zdCBpc0Fsb25lID0gIWtpbmRzLmluY2x1ZGVzKCdvd24nKTtcbiAgY29uc3QgbGluZXMgPSBiYXJzLm1hcCgoeyBuYW1lLCBzZXJpZXMsIHZhbHVlLCB0ZXh0IH0sIGkpID0+IHtcbiAgICBjb25zdCBsYWJlbCA9IGlzT25lUm93ID8gc2VyaWVzIHx8IG5hbWUgOiBiYXJzW2kgLSAxXT8ubmFtZSA9PT0gbmFtZSA/ICcnIDogbmFtZTtcbiAgICAvLyBUaGUgZmlndXJlIGluIGJyYWNrZXRzIGlzIHNob3duIG9ubHkgaWYgdGhlIGNhcHRpb24gZXhwbGFpbnMgaXQuXG4gICAgY29uc3QgZmlndXJlID0gL2luIGJyYWNrZXRzLy50ZXN0KHVuaXQpID8gdGV4dCA6IHRleHQucmVwbGFjZSgvIFxcKC4qJC8sICcnKTtcbiAgICBjb25zdCBzaG93biA9IGAke2ZpZ3VyZX0ke3ZhbHVlID4gZnVsbCA/ICcgXHUyMDI2IGN1dCcgOiAnJ31gO1xuICAgIGNvbnN0IHBhcnQgPSAoTWF0aC5taW4odmFsdWUsIGZ1bGwpIC8gZnVsbCkudG9GaXhlZCg0KTtcbiAgICByZXR1cm4gW1xuICAgICAgYDxzcGFuIGNsYXNzPVwibmFtZVwiPiR7ZXNjYXBlZChsYWJlbCl9PC9zcGFuPmAsXG4gICAgICBgPHNwYW4gY2xhc3M9XCJtZWFzdXJlXCI+PHNwYW4gY2xhc3M9XCJiYXIgJHtpc0Fsb25lID8gJ293bicgOiBraW5kc1tpXX1cIiBzdHlsZT1cIi0tcGFydDogJHtwYXJ0fVwiPjwvc3Bhbj5gLFxuICAgICAgYDxzcGFuIGNsYXNzPVwiZmlndXJlXCI+JHtlc2NhcGVkKHNob3duKX08L3NwYW4+PC9zcGFuPmAsXG4gICAgXS5qb2luKCcnKTtcbiAgfSk7XG4gIHJldHVybiBgPGZpZ3VyZSBjbGFzcz1cImNoYXJ0XCI+PGRpdiBjbGFzcz1cImJhcnNcIiByb2xlPVwiaW1nXCIgYXJpYS1sYWJlbD1cIiR7ZXNjYXBlZCh0aXRsZSl9XCI+JHtsaW5lcy5qb2luKCcnKX08L2Rpdj48ZmlnY2FwdGlvbj4ke2VzY2FwZWQodW5pdCl9PC9maWdjYXB0aW9uPjwvZmlndXJlPlxcbmA7XG59XG5cbi8qKiBPdXJzLCBhbm90aGVyIGxpYnJhcnkncywgb3IgYSBsb3dlciBib3VuZCB0aGF0IG5vIGxpbWl0ZXIgY2FuIGJlYXQuIEBwYXJhbSB7QmFyfSBiYXIgKi9cbmZ1bmN0aW9uIGtpbmRPZih7IG5hbWUsIHNlcmllcyB9KSB7XG4gIGlmIChzZXJpZXMgPT09ICdhZnRlcicgfHwgT1dOLnRlc3Qoc2VyaWVzID09PSAnYmVmb3JlJyA/ICcnIDogYCR7bmFtZX0gJHtzZXJpZXN9YCkpIHJldHVybiAnb3duJztcbiAgcmV0dXJuIC9eKGEgYmFyZXxub3RoaW5nIGJ1dHxQSU5HfHJlZGlzLXNlcnZlciBJTkNSKS8udGVzdChuYW1lKSA/ICdiYXJlJyA6ICdwZWVyJztcbn1cblxuLyoqIEBwYXJhbSB7c3RyaW5nfSB0ZXh0ICovXG5jb25zdCBlc2NhcGVkID0gKHRleHQpID0+XG4gIHRleHQucmVwbGFjZUFsbCgnJicsICcmYW1wOycpLnJlcGxhY2VBbGwoJzwnLCAnJmx0OycpLnJlcGxhY2VBbGwoJ1wiJywgJyZxdW90OycpLnJlcGxhY2VBbGwoJ3snLCAnJiMxMjM7Jyk7XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvdG1wL3d0L21hY2hpbmVyeS9zaXRlL2xpYi9yZWZlcmVuY2UubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL3JlZmVyZW5jZS5tanNcIjsvLyBAdHMtY2hlY2tcbi8qKiBHZW5lcmF0ZXMgdGhlIHJlZmVyZW5jZSBmcm9tIHR5cGVzIGFuZCBjb21tZW50czogb25lIHBhZ2UgcGVyIGVudHJ5IHBvaW50IG9mIHRoZSBwYWNrYWdlcy4gKi9cblxuaW1wb3J0IHsgZXhpc3RzU3luYywgcmVhZGRpclN5bmMsIHJlYWRGaWxlU3luYywgcm1TeW5jLCBzdGF0U3luYywgd3JpdGVGaWxlU3luYyB9IGZyb20gJ25vZGU6ZnMnO1xuaW1wb3J0IHsgam9pbiB9IGZyb20gJ25vZGU6cGF0aCc7XG5pbXBvcnQgeyBBcHBsaWNhdGlvbiB9IGZyb20gJ3R5cGVkb2MnO1xuaW1wb3J0IHsgc3VtbWFyeU9mIH0gZnJvbSAnLi9sbG1zLm1qcyc7XG5pbXBvcnQgeyByb290LCB0ZXh0T2YgfSBmcm9tICcuL3BhZ2VzLm1qcyc7XG5pbXBvcnQgeyBmYXVsdHNPZiB9IGZyb20gJy4vcmVmZXJlbmNlLWNoZWNrLm1qcyc7XG5pbXBvcnQgeyBPUFRJT05TLCB0aWRpZWQgfSBmcm9tICcuL3JlZmVyZW5jZS1mb3JtLm1qcyc7XG5pbXBvcnQgeyBhbGlhc1RleHRzLCBkZXNjcmliZSwga2VlcE5hbWVzLCBvcmRlciwgcGxhaW4sIHNpbGVudCB9IGZyb20gJy4vcmVmZXJlbmNlLW1vZGVsLm1qcyc7XG5cbi8qKiBJZ25vcmVkIGJ5IGdpdC4gVGhlIHNpdGUgaW5jbHVkZXMgdGhlc2UgcGFnZXM7IHRoZSB0ZXN0cyBvZiB0aGUgZG9jdW1lbnRhdGlvbiBkbyBub3QuICovXG5jb25zdCBGT0xERVIgPSAnc2l0ZS9nZW5lcmF0ZWQvcmVmZXJlbmNlJztcblxuLyoqIEB0eXBlZGVmIHtNYXA8c3RyaW5nLCBzdHJpbmc+fSBFbnRyaWVzIHNvdXJjZSBmaWxlcyBieSBlbnRyeSBwb2ludCwgc3VjaCBhcyAnc2x1aWNlL3JlZGlzJyAqL1xuXG4vKiogUGF0aHMgb2YgdGhlIHBhZ2VzIGZyb20gdGhlIHJvb3QuIEdlbmVyYXRlcyB0aGVtIGFnYWluIG9ubHkgaWYgYSBzb3VyY2UgaGFzIGNoYW5nZWQuICovXG5leHBvcnQgYXN5bmMgZnVuY3Rpb24gd3JpdGVSZWZlcmVuY2UoKSB7XG4gIGNvbnN0IHBhY2thZ2VzID0gcHVibGljUGFja2FnZXMoKTtcbiAgY29uc3QgZW50cmllcyA9IG5ldyBNYXAocGFja2FnZXMuZmxhdE1hcChlbnRyeVBvaW50cykpO1xuICBjb25zdCB3YXRjaGVkID0gWydzaXRlL2xpYicsIC4uLnBhY2thZ2VzLm1hcCgobmFtZSkgPT4gYHBhY2thZ2VzLyR7bmFtZX0vc3JjYCldO1xuICBjb25zdCBzdGFtcCA9IGAke3dhdGNoZWQubWFwKChmb2xkZXIpID0+IG5ld2VzdChqb2luKHJvb3QsIGZvbGRlcikpKS5qb2luKCcgJyl9ICR7Wy4uLmVudHJpZXMua2V5cygpXS5qb2luKCl9YDtcbiAgY29uc3Qgc3RhbXBGaWxlID0gam9pbihyb290LCBGT0xERVIsICcuc3RhbXAnKTtcbiAgaWYgKCFleGlzdHNTeW5jKHN0YW1wRmlsZSkgfHwgcmVhZEZpbGVTeW5jKHN0YW1wRmlsZSwgJ3V0ZjgnKSAhPT0gc3RhbXApIHtcbiAgICBhd2FpdCBnZW5lcmF0ZShwYWNrYWdlcywgZW50cmllcyk7XG4gICAgd3JpdGVGaWxlU3luYyhzdGFtcEZpbGUsIHN0YW1wKTtcbiAgfVxuICByZXR1cm4gW2Ake0ZPTERFUn0vaW5kZXgubWRgLCAuLi5bLi4uZW50cmllcy5rZXlzKCldLm1hcChwYWdlT2YpXTtcbn1cblxuLyoqIEBwYXJhbSB7c3RyaW5nfSBlbnRyeSAqL1xuY29uc3QgcGFnZU9mID0gKGVudHJ5KSA9PiBgJHtGT0xERVJ9LyR7ZW50cnl9Lm1kYDtcblxuLyoqIEBwYXJhbSB7c3RyaW5nfSBmb2xkZXIgQHJldHVybnMge3sgbmFtZTogc3RyaW5nLCBwcml2YXRlPzogYm9vbGVhbiwgZXhwb3J0czogUmVjb3JkPHN0cmluZywgc3RyaW5nIHwgeyBkZWZhdWx0OiBzdHJpbmcgfT4gfX0gKi9cbmNvbnN0IG1hbmlmZXN0T2YgPSAoZm9sZGVyKSA9PiBKU09OLnBhcnNlKHRleHRPZihgcGFja2FnZXMvJHtmb2xkZXJ9L3BhY2thZ2UuanNvbmApKTtcblxuLyoqIFRoZSBmb2xkZXJzIG9mIHRoZSBwYWNrYWdlcyB0aGF0IHVzZXJzIGNhbiBpbnN0YWxsLiBgc2x1aWNlYCBjb21lcyBmaXJzdCwgYmVjYXVzZSBpdCBvd25zIHRoZSBzaGFyZWQgdHlwZXMuICovXG5mdW5jdGlvbiBwdWJsaWNQYWNrYWdlcygpIHtcbiAgY29uc3QgZm9sZGVycyA9IHJlYWRkaXJTeW5jKGpvaW4ocm9vdCwgJ3BhY2thZ2VzJykpLmZpbHRlcigoZm9sZGVyKSA9PiAhbWFuaWZlc3RPZihmb2xkZXIpLnByaXZhdGUpO1xuICByZXR1cm4gWydzbHVpY2UnLCAuLi5mb2xkZXJzLmZpbHRlcigoZm9sZGVyKSA9PiBmb2xkZXIgIT09ICdzbHVpY2UnKV07XG59XG5cbi8qKiBAcGFyYW0ge3N0cmluZ30gZm9sZGVyIEByZXR1cm5zIHtbc3RyaW5nLCBzdHJpbmddW119ICovXG5mdW5jdGlvbiBlbnRyeVBvaW50cyhmb2xkZXIpIHtcbiAgY29uc3QgeyBuYW1lLCBleHBvcnRzIH0gPSBtYW5pZmVzdE9mKGZvbGRlcik7XG4gIHJldHVybiBPYmplY3QuZW50cmllcyhleHBvcnRzKS5mbGF0TWFwKChbcGF0aCwgdGFyZ2V0XSkgPT4ge1xuICAgIGlmICh0eXBlb2YgdGFyZ2V0ID09PSAnc3RyaW5nJykgcmV0dXJuIFtdO1xuICAgIGNvbnN0IHNvdXJjZSA9IHRhcmdldC5kZWZhdWx0LnJlcGxhY2UoJy4vZGlzdC8nLCBgcGFja2FnZXMvJHtmb2xkZXJ9L3NyYy9gKS5yZXBsYWNlKC9cXC5qcyQvLCAnLnRzJyk7XG4gICAgcmV0dXJuIFtbcGF0aC5yZXBsYWNlKCcuJywgbmFtZSksIGpvaW4ocm9vdCwgc291cmNlKV1dO1xuICB9KTtcbn1cblxuLyoqIFRoZSBuYW1lcyBpbiBleHBvcnRzLmpzb24sIGJ5IGVudHJ5IHBvaW50LiBAcGFyYW0ge3N0cmluZ30gZm9sZGVyIEByZXR1cm5zIHtbc3RyaW5nLCBzdHJpbmdbXV1bXX0gKi9cbmZ1bmN0aW9uIGV4cG9ydGVkTmFtZXMoZm9sZGVyKSB7XG4gIGNvbnN0IHsgbmFtZSB9ID0gbWFuaWZlc3RPZihmb2xkZXIpO1xuICAvKiogQHR5cGUge1JlY29yZDxzdHJpbmcsIHsgdmFsdWVzOiBzdHJpbmdbXSwgdHlwZXM6IHN0cmluZ1tdIH0+fSAqL1xuICBjb25zdCBleHBvcnRzID0gSlNPTi5wYXJzZSh0ZXh0T2YoYHBhY2thZ2VzLyR7Zm9sZGVyfS9leHBvcnRzLmpzb25gKSk7XG4gIHJldHVybiBPYmplY3QuZW50cmllcyhleHBvcnRzKS5tYXAoKFtwYXRoLCB7IHZhbHVlcywgdHlwZXMgfV0pID0+IFtcbiAgICBwYXRoLnJlcGxhY2UoJy4nLCBuYW1lKSxcbiAgICBbLi4udmFsdWVzLCAuLi50eXBlc10sXG4gIF0pO1xufVxuXG4vKipcbiAqIEZhaWxzIGlmIGEgdHlwZSBpcyBtZW50aW9uZWQgdGhhdCBoYXMgbm8gZW50cnksIG9yIGlmIGEgbmFtZSBoYXMgbm8gY29tbWVudC5cbiAqIEBwYXJhbSB7cmVhZG9ubHkgc3RyaW5nW119IHBhY2thZ2VzIEBwYXJhbSB7RW50cmllc30gZW50cmllc1xuICovXG5hc3luYyBmdW5jdGlvbiBnZW5lcmF0ZShwYWNrYWdlcywgZW50cmllcykge1xuICBjb25zdCBvdXQgPSBqb2luKHJvb3QsIEZPTERFUik7XG4gIHJtU3luYyhvdXQsIHsgcmVjdXJzaXZlOiB0cnVlLCBmb3JjZTogdHJ1ZSB9KTtcbiAgY29uc3QgYXBwID0gYXdhaXQgQXBwbGljYXRpb24uYm9vdHN0cmFwV2l0aFBsdWdpbnMoXG4gICAgLyoqIEB0eXBlIHtQYXJ0aWFsPGltcG9ydCgndHlwZWRvYycpLlR5cGVEb2NPcHRpb25zPn0gKi8gKHtcbiAgICAgIC4uLk9QVElPTlMsXG4gICAgICBlbnRyeVBvaW50czogWy4uLmVudHJpZXMudmFsdWVzKCldLFxuICAgICAgdHNjb25maWc6IGpvaW4ocm9vdCwgJ3NpdGUvdHNjb25maWcucmVmZXJlbmNlLmpzb24nKSxcbiAgICAgIC8vIFBhY2thZ2VzIGltcG9ydCBlYWNoIG90aGVyJ3Mgc291cmNlcywgc28gdGhhdCBlYWNoIHR5cGUgaGFzIG9uZSBlbnRyeS5cbiAgICAgIGNvbXBpbGVyT3B0aW9uczoge1xuICAgICAgICBwYXRoczogT2JqZWN0LmZyb21FbnRyaWVzKFsuLi5lbnRyaWVzXS5tYXAoKFtuYW1lLCBmaWxlXSkgPT4gW25hbWUsIFtmaWxlXV0pKSxcbiAgICAgIH0sXG4gICAgICBvdXRwdXRzOiBbeyBuYW1lOiAnbWFya2Rvd24nLCBwYXRoOiBvdXQgfV0sXG4gICAgfSksXG4gICk7XG4gIGtlZXBOYW1lcyhhcHAuY29udmVydGVyKTtcbiAgY29uc3QgYWxpYXNlcyA9IGFsaWFzVGV4dHMoYXBwLmNvbnZlcnRlcik7XG4gIGNvbnN0IGZpbGVzID0gbmV3IE1hcChbLi4uZW50cmllc10ubWFwKChbbmFtZSwgZmlsZV0pID0+IFtmaWxlLnJlcGxhY2VBbGwoJ1xcXFwnLCAnLycpLCBuYW1lXSkpO1xuICBjb25zdCBuYW1lcyA9IFsuLi5lbnRyaWVzLmtleXMoKV07XG4gIGNvbnN0IHBvaW50cyA9IChhcHAuZ2V0RW50cnlQb2ludHMoKSA/PyBbXSlcbiAgICAubWFwKChwb2ludCkgPT4gKHsgLi4ucG9pbnQsIGRpc3BsYXlOYW1lOiBmaWxlcy5nZXQocG9pbnQuc291cmNlRmlsZS5maWxlTmFtZSkgPz8gcG9pbnQuZGlzcGxheU5hbWUgfSkpXG4gICAgLy8gVGhlIGVudHJ5IG9mIGEgdHlwZSBpcyBvbiB0aGUgcGFnZSBvZiB0aGUgZmlyc3QgZW50cnkgcG9pbnQgdGhhdCBleHBvcnRzIGl0OyB0aGUgb3RoZXJzIGxpbmsgdG8gaXQuXG4gICAgLnNvcnQoKGEsIGIpID0+IG5hbWVzLmluZGV4T2YoYS5kaXNwbGF5TmFtZSkgLSBuYW1lcy5pbmRleE9mKGIuZGlzcGxheU5hbWUpKTtcbiAgY29uc3QgcHJvamVjdCA9IGFwcC5jb252ZXJ0ZXIuY29udmVydChwb2ludHMpO1xuICBkZXNjcmliZShwcm9qZWN0LCBuZXcgTWFwKFsuLi5lbnRyaWVzXS5tYXAoKFtuYW1lLCBmaWxlXSkgPT4gW25hbWUsIGhlYWRPZihmaWxlKV0pKSk7XG4gIGZvciAoY29uc3QgZm9sZGVyIG9mIHBhY2thZ2VzKSB7XG4gICAgcHJvamVjdC5wYWNrYWdlTmFtZSA9IG1hbmlmZXN0T2YoZm9sZGVyKS5uYW1lOyAvLyB0eXBlZG9jIHZhbGlkYXRlcyBvbmx5IHRoZSBuYW1lcyBvZiB0aGlzIHBhY2thZ2VcbiAgICBhcHAudmFsaWRhdGUocHJvamVjdCk7XG4gIH1cbiAgY29uc3QgdW5zYWlkID0gc2lsZW50KHByb2plY3QpO1xuICBpZiAodW5zYWlkLmxlbmd0aCA+IDApIGFwcC5sb2dnZXIuZXJyb3IoYG5vIGNvbW1lbnQ6ICR7dW5zYWlkLmpvaW4oJywgJyl9YCk7XG4gIGlmIChhcHAubG9nZ2VyLmhhc0Vycm9ycygpIHx8IGFwcC5sb2dnZXIuaGFzV2FybmluZ3MoKSkgdGhyb3cgbmV3IEVycm9yKCd0aGUgcmVmZXJlbmNlIGlzIGluY29tcGxldGUnKTtcbiAgcGxhaW4ocHJvamVjdCk7XG4gIG9yZGVyKHByb2plY3QpO1xuICBhd2FpdCBhcHAuZ2VuZXJhdGVPdXRwdXRzKHByb2plY3QpO1xuICAvKiogQHR5cGUge01hcDxzdHJpbmcsIHN0cmluZz59ICovXG4gIGNvbnN0IHBhZ2VzID0gbmV3IE1hcCgpO1xuICBmb3IgKGNvbnN0IG5hbWUgb2YgbmFtZXMpIHtcbiAgICBjb25zdCBwYWdlID0gdGlkaWVkKHRleHRPZihwYWdlT2YobmFtZSkpLCBhbGlhc2VzLmdldChuYW1lKSA/PyBuZXcgTWFwKCkpO1xuICAgIHdyaXRlRmlsZVN5bmMoam9pbihyb290LCBwYWdlT2YobmFtZSkpLCBwYWdlKTtcbiAgICBwYWdlcy5zZXQobmFtZSwgcGFnZSk7XG4gIH1cbiAgY29uc3QgZmF1bHRzID0gZmF1bHRzT2YocGFnZXMsIG5ldyBNYXAocGFja2FnZXMuZmxhdE1hcChleHBvcnRlZE5hbWVzKSkpO1xuICBpZiAoZmF1bHRzLmxlbmd0aCA+IDApIHRocm93IG5ldyBFcnJvcihgdGhlIHJlZmVyZW5jZSBpcyBpbmNvbXBsZXRlOlxcbiR7ZmF1bHRzLmpvaW4oJ1xcbicpfWApO1xuICB3cml0ZUZpbGVTeW5jKGpvaW4ob3V0LCAnaW5kZXgubWQnKSwgaW5kZXhPZihuYW1lcykpO1xufVxuXG4vKiogQHBhcmFtIHtyZWFkb25seSBzdHJpbmdbXX0gbmFtZXMgKi9cbmZ1bmN0aW9uIGluZGV4T2YobmFtZXMpIHtcbiAgY29uc3Qgcm93cyA9IG5hbWVzLm1hcCgobmFtZSkgPT4gYHwgW1xcYCR7bmFtZX1cXGBdKCR7bmFtZX0ubWQpIHwgJHtzdW1tYXJ5T2YodGV4dE9mKHBhZ2VPZihuYW1lKSkpfSB8YCk7XG4gIHJldHVybiBbXG4gICAgJyMgUmVmZXJlbmNlJyxcbiAgICAnJyxcbiAgICAnRXZlcnkgZXhwb3J0ZWQgbmFtZSB3aXRoIGl0cyB0eXBlIGFuZCBkZXNjcmlwdGlvbiwgb25lIHBhZ2UgcGVyIGltcG9ydCBwYXRoLicsXG4gICAgJycsXG4gICAgJ3wgaW1wb3J0IHwgfCcsXG4gICAgJ3wtLS18LS0tfCcsXG4gICAgLi4ucm93cyxcbiAgICAnJyxcbiAgXS5qb2luKCdcXG4nKTtcbn1cblxuLyoqIFRoZSBjb21tZW50IGF0IHRoZSB0b3Agb2YgYSBmaWxlLiBAcGFyYW0ge3N0cmluZ30gZmlsZSAqL1xuZnVuY3Rpb24gaGVhZE9mKGZpbGUpIHtcbiAgY29uc3QgWywgY29tbWVudCA9ICcnXSA9IC9eXFwvXFwqXFwqKFtcXHNcXFNdKj8pXFwqXFwvLy5leGVjKHJlYWRGaWxlU3luYyhmaWxlLCAndXRmOCcpKSA/PyBbXTtcbiAgcmV0dXJuIGNvbW1lbnQucmVwbGFjZUFsbCgvXiAqXFwqID8vZ20sICcnKS50cmltKCk7XG59XG5cbi8qKiBUaGUgbW9kaWZpY2F0aW9uIHRpbWUgb2YgdGhlIG5ld2VzdCBmaWxlIGluIGEgZm9sZGVyLCBpbiBtaWxsaXNlY29uZHMuIEBwYXJhbSB7c3RyaW5nfSBmb2xkZXIgKi9cbmZ1bmN0aW9uIG5ld2VzdChmb2xkZXIpIHtcbiAgbGV0IGxhdGVzdCA9IDA7XG4gIGZvciAoY29uc3QgZW50cnkgb2YgcmVhZGRpclN5bmMoZm9sZGVyLCB7IHJlY3Vyc2l2ZTogdHJ1ZSwgd2l0aEZpbGVUeXBlczogdHJ1ZSB9KSlcbiAgICBpZiAoZW50cnkuaXNGaWxlKCkpIGxhdGVzdCA9IE1hdGgubWF4KGxhdGVzdCwgc3RhdFN5bmMoam9pbihlbnRyeS5wYXJlbnRQYXRoLCBlbnRyeS5uYW1lKSkubXRpbWVNcyk7XG4gIHJldHVybiBsYXRlc3Q7XG59XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvdG1wL3d0L21hY2hpbmVyeS9zaXRlL2xpYi9yZWZlcmVuY2UtY2hlY2subWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL3JlZmVyZW5jZS1jaGVjay5tanNcIjsvLyBAdHMtY2hlY2tcbi8qKiBGaW5kcyB3aGF0IGlzIG1pc3NpbmcgaW4gdGhlIHJlZmVyZW5jZTogYW4gZXhwb3J0ZWQgbmFtZSwgdGhlIGVudHJ5IG9mIGEgdHlwZSwgdGhlIGNvbW1lbnQgb2YgYSBwcm9wZXJ0eS4gKi9cblxuLyoqIFR5cGVzIG9mIHRoZSBsYW5ndWFnZSwgb2YgcGxhdGZvcm1zIGFuZCBvZiBvdGhlciBwYWNrYWdlcy4gVGhleSBhcmUgZG9jdW1lbnRlZCBlbHNld2hlcmUuICovXG5jb25zdCBGT1JFSUdOID0gbmV3IFNldChcbiAgYEFib3J0U2lnbmFsIERhdGUgRXJyb3IgRmxvYXQ2NEFycmF5IEhlYWRlcnMgTWFwIFByb21pc2UgUmFuZ2VFcnJvciBSZXF1ZXN0IFJlc3BvbnNlIFNoYXJlZEFycmF5QnVmZmVyIFVpbnQ4QXJyYXlcbiAgRXhjbHVkZSBFeHRyYWN0IE5vSW5mZXIgT21pdCBQYXJhbWV0ZXJzIFBhcnRpYWwgUGljayBSZWFkb25seSBSZWFkb25seU1hcCBSZWNvcmQgUmVxdWlyZWQgUmV0dXJuVHlwZSBDbGFzc0RlY29yYXRvciBNZXRob2REZWNvcmF0b3JcbiAgSW5jb21pbmdNZXNzYWdlIFNlcnZlclJlc3BvbnNlIEh0dHAyU2VydmVyUmVxdWVzdCBIdHRwMlNlcnZlclJlc3BvbnNlXG4gIENhbGxIYW5kbGVyIENhbkFjdGl2YXRlIENvbmZpZ3VyYWJsZU1vZHVsZUFzeW5jT3B0aW9ucyBEeW5hbWljTW9kdWxlIEV4ZWN1dGlvbkNvbnRleHQgSHR0cEV4Y2VwdGlvbiBOZXN0SW50ZXJjZXB0b3JcbiAgRmFzdGlmeVBsdWdpbkFzeW5jIEZhc3RpZnlSZXF1ZXN0IENvbnRleHQgTWlkZGxld2FyZUhhbmRsZXIgQXR0cmlidXRlcyBNZXRlciBUcmFjZXIgSW5maW5pdHlgLnNwbGl0KC9cXHMrLyksXG4pO1xuXG4vKipcbiAqIEBwYXJhbSB7UmVhZG9ubHlNYXA8c3RyaW5nLCBzdHJpbmc+fSBwYWdlcyBieSBlbnRyeSwgc3VjaCBhcyAnc2x1aWNlL3JlZGlzJ1xuICogQHBhcmFtIHtSZWFkb25seU1hcDxzdHJpbmcsIHJlYWRvbmx5IHN0cmluZ1tdPn0gZXhwb3J0ZWQgbmFtZXMgYnkgZW50cnlcbiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGZhdWx0c09mKHBhZ2VzLCBleHBvcnRlZCkge1xuICBjb25zdCBrbm93biA9IG5ldyBTZXQoWy4uLnBhZ2VzLnZhbHVlcygpXS5mbGF0TWFwKGVudHJpZXNPZikpO1xuICByZXR1cm4gWy4uLmV4cG9ydGVkXS5mbGF0TWFwKChbZW50cnksIG5hbWVzXSkgPT4ge1xuICAgIGNvbnN0IHBhZ2UgPSBwYWdlcy5nZXQoZW50cnkpO1xuICAgIGlmIChwYWdlID09PSB1bmRlZmluZWQpIHJldHVybiBbYCR7ZW50cnl9IGhhcyBubyBwYWdlYF07XG4gICAgY29uc3QgcGxhY2VzID0gbmV3IFNldChbLi4uZW50cmllc09mKHBhZ2UpLCAuLi5saXN0ZWRJbihwYWdlKV0pO1xuICAgIHJldHVybiBbXG4gICAgICAuLi5uYW1lcy5maWx0ZXIoKG5hbWUpID0+ICFwbGFjZXMuaGFzKG5hbWUpKS5tYXAoKG5hbWUpID0+IGAke2VudHJ5fSBkb2VzIG5vdCBkb2N1bWVudCAke25hbWV9YCksXG4gICAgICAuLi5zdHJhbmdlcnNJbihwYWdlLCBrbm93bikubWFwKChuYW1lKSA9PiBgJHtlbnRyeX0gbWVudGlvbnMgJHtuYW1lfSwgd2hpY2ggaGFzIG5vIGVudHJ5YCksXG4gICAgICAuLi5jdXRPZmYocGFnZSkubWFwKChsaW5lKSA9PiBgJHtlbnRyeX0gYWJicmV2aWF0ZXMgYSB0eXBlOiAke2xpbmV9YCksXG4gICAgICAuLi5iYXJlUm93cyhwYWdlKS5tYXAoKG5hbWUpID0+IGAke2VudHJ5fSBoYXMgbm8gY29tbWVudCBmb3IgJHtuYW1lfWApLFxuICAgIF07XG4gIH0pO1xufVxuXG4vKiogQHBhcmFtIHtzdHJpbmd9IHBhZ2UgKi9cbmNvbnN0IGVudHJpZXNPZiA9IChwYWdlKSA9PiBtYXRjaGVzKHBhZ2UucmVwbGFjZUFsbCgnXFxcXF8nLCAnXycpLCAvXiMjIChcXHcrKSg/OlxcKFxcKSk/IFxceyMvZ20pO1xuXG4vKiogTmFtZXMgd2hvc2UgZW50cnkgaXMgb24gYW5vdGhlciBwYWdlLiBAcGFyYW0ge3N0cmluZ30gcGFnZSAqL1xuY29uc3QgbGlzdGVkSW4gPSAocGFnZSkgPT4gbWF0Y2hlcyhwYWdlLCAvXi0gXFxbKFxcdyspXFxdXFwoL2dtKTtcblxuLyoqIE5hbWVzIG9mIHR5cGVzIHdpdGhvdXQgYW4gZW50cnksIGluIGNvZGUgYmxvY2tzLCBvciB3aXRob3V0IGEgbGluayBpbiBhIHRhYmxlIG9yIG9uIHRoZWlyIG93biBsaW5lLiBAcGFyYW0ge3N0cmluZ30gcGFnZSBAcGFyYW0ge1JlYWRvbmx5U2V0PHN0cmluZz59IGtub3duICovXG5mdW5jdGlvbiBzdHJhbmdlcnNJbihwYWdlLCBrbm93bikge1xuICBjb25zdCBjb2RlcyA9IG1hdGNoZXMocGFnZSwgL15gYGB0c1xcbihbXFxzXFxTXSo/KV5gYGAkL2dtKS5tYXAoKGNvZGUpID0+XG4gICAgY29kZS5yZXBsYWNlQWxsKC9cXC9cXCpbXFxzXFxTXSo/XFwqXFwvfFxcL1xcLy4qfCdbXidcXG5dKid8XCJbXlwiXFxuXSpcIi9nLCAnJyksXG4gICk7XG4gIGNvbnN0IHBhcmFtZXRlcnMgPSBuZXcgU2V0KFtcbiAgICAuLi5tYXRjaGVzKHBhZ2UsIC88YSBpZD1cInR5cGUtcGFyYW1ldGVyLVteXCJdKlwiPjxcXC9hPiBgKFxcdyspYC9nKSxcbiAgICAuLi5jb2Rlcy5mbGF0TWFwKChjb2RlKSA9PiBtYXRjaGVzKGNvZGUsIC88KFxcdyspKD86IGV4dGVuZHMgfD5cXCgpL2cpKSxcbiAgXSk7XG4gIGNvbnN0IGlzRm9yZWlnbiA9ICgvKiogQHR5cGUge3N0cmluZ30gKi8gbmFtZSkgPT4gRk9SRUlHTi5oYXMobmFtZSkgfHwgcGFyYW1ldGVycy5oYXMobmFtZSk7XG4gIGNvbnN0IGluQ29kZSA9IGNvZGVzXG4gICAgLmZsYXRNYXAoKGNvZGUpID0+IG1hdGNoZXMoY29kZSwgLyg/PCFbXFx3Ll0pKFtBLVpdXFx3KikoPyFcXHcqXFw/PzopL2cpKVxuICAgIC5maWx0ZXIoKG5hbWUpID0+ICFrbm93bi5oYXMobmFtZSkpO1xuICBjb25zdCBpblR5cGVzID0gdHlwZXNJbihwYWdlKS5mbGF0TWFwKCh0eXBlKSA9PiBtYXRjaGVzKHR5cGUsIC8oPzwhXFxbKWAoW0EtWl1cXHcqKWAoPyFcXD8/OikvZykpO1xuICByZXR1cm4gWy4uLm5ldyBTZXQoWy4uLmluQ29kZSwgLi4uaW5UeXBlc10uZmlsdGVyKChuYW1lKSA9PiAhaXNGb3JlaWduKG5hbWUpKSldO1xufVxuXG4vKiogVGhlIHBsYWNlcyB3aGVyZSB0eXBlZG9jIGxpbmtzIHR5cGVzOiB0YWJsZSBjZWxscyBhbmQgcmV0dXJuIHR5cGVzLiBAcGFyYW0ge3N0cmluZ30gcGFnZSAqL1xuZnVuY3Rpb24gdHlwZXNJbihwYWdlKSB7XG4gIGNvbnN0IGxpbmVzID0gcGFnZS5yZXBsYWNlQWxsKC9eYGBgW1xcc1xcU10qP15gYGAkL2dtLCAnJykuc3BsaXQoJ1xcbicpO1xuICByZXR1cm4gbGluZXMuZmxhdE1hcCgobGluZSwgaSkgPT4ge1xuICAgIGlmIChsaW5lLnN0YXJ0c1dpdGgoJ3wnKSkgcmV0dXJuIFtjZWxsc09mKGxpbmUpWzJdID8/ICcnXTtcbiAgICByZXR1cm4gL14jKyAoUmV0dXJuc3xFeHRlbmRzKSQvLnRlc3QobGluZXNbaSAtIDJdID8/ICcnKSA/IFtsaW5lXSA6IFtdO1xuICB9KTtcbn1cblxuLyoqIEBwYXJhbSB7c3RyaW5nfSBwYWdlICovXG5jb25zdCBjdXRPZmYgPSAocGFnZSkgPT4gcGFnZS5zcGxpdCgnXFxuJykuZmlsdGVyKChsaW5lKSA9PiAvJiBgb2JqZWN0YHxgb2JqZWN0YFxcW1xcXS8udGVzdChsaW5lKSk7XG5cbi8qKiBQcm9wZXJ0aWVzIHdpdGhvdXQgYSBjb21tZW50LiBAcGFyYW0ge3N0cmluZ30gcGFnZSAqL1xuZnVuY3Rpb24gYmFyZVJvd3MocGFnZSkge1xuICByZXR1cm4gbWF0Y2hlcyhwYWdlLCAvKCg/Ol5cXHwgLipcXG4pKykvZ20pXG4gICAgLmZpbHRlcigodGFibGUpID0+IHRhYmxlLnN0YXJ0c1dpdGgoJ3wgUHJvcGVydHkgJykpXG4gICAgLmZsYXRNYXAoKHRhYmxlKSA9PiB7XG4gICAgICBjb25zdCBbaGVhZCA9ICcnLCAsIC4uLnJvd3NdID0gdGFibGUudHJpbUVuZCgpLnNwbGl0KCdcXG4nKTtcbiAgICAgIGNvbnN0IHBsYWNlID0gY2VsbHNPZihoZWFkKS5pbmRleE9mKCcgRGVzY3JpcHRpb24gJyk7XG4gICAgICByZXR1cm4gcm93c1xuICAgICAgICAubWFwKGNlbGxzT2YpXG4gICAgICAgIC5maWx0ZXIoKGNlbGxzKSA9PiAvXiggLSk/ICokLy50ZXN0KGNlbGxzW3BsYWNlXSA/PyAnJykpXG4gICAgICAgIC5tYXAoKGNlbGxzKSA9PiAvYChbXmBdKylgLy5leGVjKGNlbGxzWzFdID8/ICcnKT8uWzFdID8/ICcnKTtcbiAgICB9KTtcbn1cblxuLyoqIEBwYXJhbSB7c3RyaW5nfSByb3cgKi9cbmV4cG9ydCBjb25zdCBjZWxsc09mID0gKHJvdykgPT4gcm93LnNwbGl0KC8oPzwhXFxcXClcXHwvKTtcblxuLyoqIFRoZSBmaXJzdCBncm91cCBvZiBlYWNoIG1hdGNoLiBAcGFyYW0ge3N0cmluZ30gdGV4dCBAcGFyYW0ge1JlZ0V4cH0gcGF0dGVybiAqL1xuY29uc3QgbWF0Y2hlcyA9ICh0ZXh0LCBwYXR0ZXJuKSA9PiBbLi4udGV4dC5tYXRjaEFsbChwYXR0ZXJuKV0ubWFwKChtYXRjaCkgPT4gbWF0Y2hbMV0gPz8gJycpO1xuIiwgImNvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9kaXJuYW1lID0gXCIvdG1wL3d0L21hY2hpbmVyeS9zaXRlL2xpYlwiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3RtcC93dC9tYWNoaW5lcnkvc2l0ZS9saWIvcmVmZXJlbmNlLWZvcm0ubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL3JlZmVyZW5jZS1mb3JtLm1qc1wiOy8vIEB0cy1jaGVja1xuLyoqIFRoZSBvcHRpb25zIG9mIHR5cGVkb2MsIGFuZCB0aGUgZm9ybWF0IG9mIHRoZSByZWZlcmVuY2UgcGFnZXMuICovXG5cbmltcG9ydCB7IGNlbGxzT2YgfSBmcm9tICcuL3JlZmVyZW5jZS1jaGVjay5tanMnO1xuXG4vKiogT3B0aW9ucyBvZiB0eXBlZG9jIGFuZCBpdHMgTWFya2Rvd24gcGx1Z2luLiAqL1xuZXhwb3J0IGNvbnN0IE9QVElPTlMgPSB7XG4gIHBsdWdpbjogWyd0eXBlZG9jLXBsdWdpbi1tYXJrZG93biddLFxuICByb3V0ZXI6ICdtb2R1bGUnLFxuICByZWFkbWU6ICdub25lJyxcbiAgbmFtZTogJ1JlZmVyZW5jZScsXG4gIGVudHJ5RmlsZU5hbWU6ICdpbmRleCcsXG4gIGV4Y2x1ZGVJbnRlcm5hbDogdHJ1ZSxcbiAgZXhjbHVkZVByaXZhdGU6IHRydWUsXG4gIGV4Y2x1ZGVFeHRlcm5hbHM6IHRydWUsXG4gIGRpc2FibGVTb3VyY2VzOiB0cnVlLFxuICBkaXNhYmxlR2l0OiB0cnVlLFxuICBza2lwRXJyb3JDaGVja2luZzogdHJ1ZSxcbiAgbG9nTGV2ZWw6ICdXYXJuJyxcbiAgdmFsaWRhdGlvbjogeyBub3RFeHBvcnRlZDogdHJ1ZSwgaW52YWxpZExpbms6IHRydWUsIG5vdERvY3VtZW50ZWQ6IGZhbHNlIH0sXG4gIGhpZGVCcmVhZGNydW1iczogdHJ1ZSxcbiAgaGlkZVBhZ2VIZWFkZXI6IHRydWUsXG4gIGhpZGVHcm91cEhlYWRpbmdzOiB0cnVlLFxuICB1c2VDb2RlQmxvY2tzOiB0cnVlLFxuICB1c2VDdXN0b21BbmNob3JzOiB0cnVlLFxuICBleHBhbmRPYmplY3RzOiB0cnVlLFxuICBleHBhbmRQYXJhbWV0ZXJzOiB0cnVlLFxuICBwYXJhbWV0ZXJzRm9ybWF0OiAndGFibGUnLFxuICBpbnRlcmZhY2VQcm9wZXJ0aWVzRm9ybWF0OiAndGFibGUnLFxuICBjbGFzc1Byb3BlcnRpZXNGb3JtYXQ6ICd0YWJsZScsXG4gIHR5cGVEZWNsYXJhdGlvbkZvcm1hdDogJ3RhYmxlJyxcbiAgcHJvcGVydHlNZW1iZXJzRm9ybWF0OiAndGFibGUnLFxuICB0eXBlQWxpYXNQcm9wZXJ0aWVzRm9ybWF0OiAndGFibGUnLFxuICB0YWJsZUNvbHVtblNldHRpbmdzOiB7IGhpZGVNb2RpZmllcnM6IHRydWUsIGhpZGVJbmhlcml0ZWQ6IHRydWUgfSxcbiAgdHlwZURlY2xhcmF0aW9uVmlzaWJpbGl0eTogJ2NvbXBhY3QnLFxuICBzb3J0OiBbJ3NvdXJjZS1vcmRlciddLFxuICBncm91cE9yZGVyOiBbJ0Z1bmN0aW9ucycsICdDbGFzc2VzJywgJ0ludGVyZmFjZXMnLCAnVHlwZSBBbGlhc2VzJywgJ1ZhcmlhYmxlcyddLFxufTtcblxuLyoqIEBwYXJhbSB7c3RyaW5nfSBwYWdlIEBwYXJhbSB7UmVhZG9ubHlNYXA8c3RyaW5nLCBzdHJpbmc+fSBhbGlhc2VzIHRoZSBzb3VyY2UgdGV4dCBvZiB0eXBlIGFsaWFzZXMsIGJ5IG5hbWUgKi9cbmV4cG9ydCBmdW5jdGlvbiB0aWRpZWQocGFnZSwgYWxpYXNlcykge1xuICBjb25zdCBjb2RlID0gcGFnZS5yZXBsYWNlQWxsKC9eYGBgdHNcXG4oW1xcc1xcU10qPylcXG5gYGAkL2dtLCAoXywgYmxvY2spID0+IHtcbiAgICBjb25zdCBbLCBhbGlhcyA9ICcnXSA9IC9edHlwZSAoXFx3KykvLmV4ZWMoYmxvY2spID8/IFtdO1xuICAgIGNvbnN0IHNob3duID0gYWxpYXNlcy5nZXQoYWxpYXMpID8/IChDQUxMLnRlc3QoYmxvY2spID8gaW5MaW5lcyhibG9jaykgOiBibG9jayk7XG4gICAgcmV0dXJuIGBcXGBcXGBcXGB0c1xcbiR7c2hvd259XFxuXFxgXFxgXFxgYDtcbiAgfSk7XG4gIHJldHVybiBjb21wYWN0UmVleHBvcnRzKHdpdGhvdXROb0RlZmF1bHRzKHdpdGhvdXRSZXBlYXRzKGNvZGUpKSk7XG59XG5cbi8qKiBUaGUgc2lnbmF0dXJlIG9mIGEgZnVuY3Rpb24sIGEgbWV0aG9kIG9yIGEgY29uc3RydWN0b3IuICovXG5jb25zdCBDQUxMID0gL14oPzooPzpmdW5jdGlvbnxuZXd8c3RhdGljfG9wdGlvbmFsKSApKlxcdyooPzo8Lio/Pik/XFwoL3M7XG5jb25zdCBMT05HRVNUID0gMTAwO1xuXG4vKiogRm9ybWF0cyBhIHNpZ25hdHVyZSBvbiBvbmUgbGluZSwgb3Igd2l0aCBvbmUgbGluZSBwZXIgcGFyYW1ldGVyIGlmIGl0IHdvdWxkIGJlIHRvbyBsb25nLiBAcGFyYW0ge3N0cmluZ30gYmxvY2sgKi9cbmZ1bmN0aW9uIGluTGluZXMoYmxvY2spIHtcbiAgY29uc3QgbGluZSA9IGJsb2NrXG4gICAgLnJlcGxhY2VBbGwoL1xccysvZywgJyAnKVxuICAgIC5yZXBsYWNlQWxsKC8oWyhbXSkgL2csICckMScpXG4gICAgLnJlcGxhY2VBbGwoLyAoWylcXF1dKS9nLCAnJDEnKVxuICAgIC5yZXBsYWNlQWxsKC8oWzooPCxdfD0+KSA/XFx8IC9nLCAoXywgYmVmb3JlKSA9PiAoL1soPF0vLnRlc3QoYmVmb3JlKSA/IGJlZm9yZSA6IGAke2JlZm9yZX0gYCkpO1xuICBjb25zdCBzdGFydCA9IGxpbmUuaW5kZXhPZignKCcpICsgMTtcbiAgaWYgKGxpbmUubGVuZ3RoIDw9IExPTkdFU1QgfHwgbGluZVtzdGFydF0gPT09ICcpJykgcmV0dXJuIGxpbmU7XG4gIGNvbnN0IHBhcmFtZXRlcnMgPSBbJyddO1xuICBsZXQgZGVwdGggPSAwO1xuICBsZXQgaSA9IHN0YXJ0O1xuICBmb3IgKDsgaSA8IGxpbmUubGVuZ3RoOyBpKyspIHtcbiAgICBjb25zdCBjaGFyYWN0ZXIgPSBsaW5lW2ldID8/ICcnO1xuICAgIGlmIChjaGFyYWN0ZXIgPT09ICcpJyAmJiBkZXB0aCA9PT0gMCkgYnJlYWs7XG4gICAgaWYgKC9bKFt7PF0vLnRlc3QoY2hhcmFjdGVyKSkgZGVwdGgrKztcbiAgICBpZiAoL1spXFxdfV0vLnRlc3QoY2hhcmFjdGVyKSB8fCAoY2hhcmFjdGVyID09PSAnPicgJiYgbGluZVtpIC0gMV0gIT09ICc9JykpIGRlcHRoLS07XG4gICAgaWYgKGNoYXJhY3RlciA9PT0gJywnICYmIGRlcHRoID09PSAwKSBwYXJhbWV0ZXJzLnB1c2goJycpO1xuICAgIGVsc2UgcGFyYW1ldGVyc1twYXJhbWV0ZXJzLmxlbmd0aCAtIDFdICs9IGNoYXJhY3RlcjtcbiAgfVxuICByZXR1cm4gYCR7bGluZS5zbGljZSgwLCBzdGFydCl9XFxuJHtwYXJhbWV0ZXJzLm1hcCgob25lKSA9PiBgICAke29uZS50cmltKCl9LFxcbmApLmpvaW4oJycpfSR7bGluZS5zbGljZShpKX1gO1xufVxuXG4vKiogUmVtb3ZlcyB0aGUgbWVtYmVycyBvZiBhbiBpbmxpbmUgdHlwZSB0aGF0IGhhdmUgbm8gY29tbWVudCwgYmVjYXVzZSB0aGUgcm93IGFib3ZlIGFscmVhZHkgc2hvd3MgdGhlbS4gQHBhcmFtIHtzdHJpbmd9IHBhZ2UgKi9cbmZ1bmN0aW9uIHdpdGhvdXRSZXBlYXRzKHBhZ2UpIHtcbiAgcmV0dXJuIHBhZ2UucmVwbGFjZUFsbCgvXlxcfCBgW15gfF0rXFwuW15gfF0rYCBcXHwgKD86XFxcXFxcfHxbXnxcXG5dKSogXFx8KD86IC0gXFx8KT9cXG4vZ20sICcnKTtcbn1cblxuLyoqIFJlbW92ZXMgJ3VuZGVmaW5lZCcsIHdoaWNoIHR5cGVkb2Mgd3JpdGVzIGlmIG9ubHkgb3RoZXIgcm93cyBvZiBhIHRhYmxlIGhhdmUgYSBkZWZhdWx0IHZhbHVlLiBAcGFyYW0ge3N0cmluZ30gcGFnZSAqL1xuZnVuY3Rpb24gd2l0aG91dE5vRGVmYXVsdHMocGFnZSkge1xuICByZXR1cm4gcGFnZS5yZXBsYWNlQWxsKC9eXFx8W15cXG5dKlxcfCBEZWZhdWx0IHZhbHVlIFxcfFteXFxuXSpcXG4oPzpcXHwuKlxcbikrL2dtLCAodGFibGUpID0+IHtcbiAgICBjb25zdCBwbGFjZSA9IGNlbGxzT2YodGFibGUuc3BsaXQoJ1xcbicpWzBdID8/ICcnKS5pbmRleE9mKCcgRGVmYXVsdCB2YWx1ZSAnKTtcbiAgICByZXR1cm4gdGFibGUucmVwbGFjZUFsbCgvXlxcfC4qJC9nbSwgKHJvdykgPT4ge1xuICAgICAgY29uc3QgY2VsbHMgPSBjZWxsc09mKHJvdyk7XG4gICAgICBpZiAoY2VsbHNbcGxhY2VdID09PSAnIGB1bmRlZmluZWRgICcpIGNlbGxzW3BsYWNlXSA9ICcgJztcbiAgICAgIHJldHVybiBjZWxscy5qb2luKCd8Jyk7XG4gICAgfSk7XG4gIH0pO1xufVxuXG4vKiogTGlzdHMgdGhlIG5hbWVzIHdob3NlIGVudHJ5IGlzIG9uIGFub3RoZXIgcGFnZSwgaW5zdGVhZCBvZiBhIHNlY3Rpb24gZm9yIGVhY2guIEBwYXJhbSB7c3RyaW5nfSBwYWdlICovXG5mdW5jdGlvbiBjb21wYWN0UmVleHBvcnRzKHBhZ2UpIHtcbiAgY29uc3Qgc2VjdGlvbiA9IC9eIyMgLitcXG5cXG5SZS1leHBvcnRzIChcXFsuK1xcXVxcKC4rXFwpKVxcbig/OlxcblxcKlxcKlxcKlxcblxcbik/L2dtO1xuICBjb25zdCBsaW5rcyA9IFsuLi5wYWdlLm1hdGNoQWxsKHNlY3Rpb24pXS5tYXAoKFssIGxpbmtdKSA9PiBgLSAke2xpbmt9YCk7XG4gIGlmIChsaW5rcy5sZW5ndGggPT09IDApIHJldHVybiBwYWdlO1xuICBjb25zdCByZXN0ID0gcGFnZS5yZXBsYWNlQWxsKHNlY3Rpb24sICcnKS50cmltRW5kKCk7XG4gIHJldHVybiBgJHtyZXN0LnJlcGxhY2UoL1xcblxcKlxcKlxcKiQvLCAnJykudHJpbUVuZCgpfVxcblxcbioqKlxcblxcbiMjIEFsc28gZXhwb3J0ZWQgaGVyZSB7I2Fsc28tZXhwb3J0ZWQtaGVyZX1cXG5cXG4ke2xpbmtzLmpvaW4oJ1xcbicpfVxcbmA7XG59XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvdG1wL3d0L21hY2hpbmVyeS9zaXRlL2xpYi9yZWZlcmVuY2UtbW9kZWwubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy90bXAvd3QvbWFjaGluZXJ5L3NpdGUvbGliL3JlZmVyZW5jZS1tb2RlbC5tanNcIjsvLyBAdHMtY2hlY2tcbi8qKiBBZGp1c3RzIHR5cGVkb2MncyBtb2RlbCBiZWZvcmUgdGhlIHBhZ2VzIGFyZSB3cml0dGVuLiAqL1xuXG5pbXBvcnQge1xuICBDb21tZW50LFxuICBDb252ZXJ0ZXIsXG4gIERlY2xhcmF0aW9uUmVmbGVjdGlvbixcbiAgbWFrZVJlY3Vyc2l2ZVZpc2l0b3IsXG4gIFBhcmFtZXRlclJlZmxlY3Rpb24sXG4gIFJlZmVyZW5jZVR5cGUsXG4gIFJlZmxlY3Rpb25LaW5kLFxuICBSZWZsZWN0aW9uVHlwZSxcbiAgU2lnbmF0dXJlUmVmbGVjdGlvbixcbn0gZnJvbSAndHlwZWRvYyc7XG5pbXBvcnQgdHMgZnJvbSAndHlwZXNjcmlwdCc7XG5cbi8qKiBAdHlwZWRlZiB7aW1wb3J0KCd0eXBlZG9jJykuUHJvamVjdFJlZmxlY3Rpb259IFByb2plY3QgKi9cbi8qKiBAdHlwZWRlZiB7aW1wb3J0KCd0eXBlZG9jJykuUmVmbGVjdGlvbn0gUmVmbGVjdGlvbiAqL1xuXG4vKipcbiAqIFNob3dzIHR5cGVzIGFzIHRoZXkgYXJlIHdyaXR0ZW4uIHR5cGVkb2MgYXNrcyB0aGUgdHlwZSBjaGVja2VyLCB3aGljaCByZXBsYWNlcyBhbGlhc2VzOiBgTWlsbGlzYCB3b3VsZCBiZWNvbWUgbnVtYmVyLlxuICogQHBhcmFtIHtpbXBvcnQoJ3R5cGVkb2MnKS5Db252ZXJ0ZXJ9IGNvbnZlcnRlclxuICovXG5leHBvcnQgZnVuY3Rpb24ga2VlcE5hbWVzKGNvbnZlcnRlcikge1xuICBjb25zdCBjb252ZXJ0VHlwZSA9IGNvbnZlcnRlci5jb252ZXJ0VHlwZS5iaW5kKGNvbnZlcnRlcik7XG4gIC8qKiBAcGFyYW0ge2ltcG9ydCgndHlwZWRvYycpLkNvbnRleHR9IGNvbnRleHQgQHBhcmFtIHt0cy5UeXBlfSB0eXBlIEBwYXJhbSB7dHMuVHlwZU5vZGV9IFtub2RlXSAqL1xuICBjb25zdCBjb252ZXJ0ZWQgPSAoY29udGV4dCwgdHlwZSwgbm9kZSkgPT5cbiAgICBub2RlICE9PSB1bmRlZmluZWQgJiYgaXNXaG9sZShjb250ZXh0LmNoZWNrZXIsIG5vZGUsIHR5cGUpXG4gICAgICA/IGNvbnZlcnRUeXBlKGNvbnRleHQsIG5vZGUpXG4gICAgICA6IGNvbnZlcnRUeXBlKGNvbnRleHQsIHR5cGUsIG5vZGUpO1xuICBjb252ZXJ0ZXIuY29udmVydFR5cGUgPSAvKiogQHR5cGUge3R5cGVvZiBjb252ZXJ0VHlwZX0gKi8gKGNvbnZlcnRlZCk7XG59XG5cbi8qKlxuICogVGhlIHNvdXJjZSB0ZXh0IG9mIHR5cGUgYWxpYXNlcywgYnkgbW9kdWxlIGFuZCBuYW1lLiBUaGUgbWFwIGlzIGZpbGxlZCBkdXJpbmcgdGhlIGNvbnZlcnNpb24uXG4gKiBAcGFyYW0ge2ltcG9ydCgndHlwZWRvYycpLkNvbnZlcnRlcn0gY29udmVydGVyXG4gKi9cbmV4cG9ydCBmdW5jdGlvbiBhbGlhc1RleHRzKGNvbnZlcnRlcikge1xuICAvKiogQHR5cGUge01hcDxzdHJpbmcsIE1hcDxzdHJpbmcsIHN0cmluZz4+fSAqL1xuICBjb25zdCB0ZXh0cyA9IG5ldyBNYXAoKTtcbiAgY29udmVydGVyLm9uKENvbnZlcnRlci5FVkVOVF9DUkVBVEVfREVDTEFSQVRJT04sIChjb250ZXh0LCBvbmUpID0+IHtcbiAgICBjb25zdCBub2RlID0gY29udGV4dC5nZXRTeW1ib2xGcm9tUmVmbGVjdGlvbihvbmUpPy5kZWNsYXJhdGlvbnM/LmZpbmQodHMuaXNUeXBlQWxpYXNEZWNsYXJhdGlvbik7XG4gICAgaWYgKG5vZGUgPT09IHVuZGVmaW5lZCB8fCAhb25lLmtpbmRPZihSZWZsZWN0aW9uS2luZC5UeXBlQWxpYXMpKSByZXR1cm47XG4gICAgY29uc3QgbW9kdWxlID0gb25lLnBhcmVudD8ubmFtZSA/PyAnJztcbiAgICBjb25zdCB0ZXh0ID0gbm9kZS5nZXRUZXh0KCkucmVwbGFjZSgvXmV4cG9ydCAvLCAnJyk7XG4gICAgdGV4dHMuc2V0KG1vZHVsZSwgKHRleHRzLmdldChtb2R1bGUpID8/IG5ldyBNYXAoKSkuc2V0KG9uZS5uYW1lLCB0ZXh0KSk7XG4gIH0pO1xuICByZXR1cm4gdGV4dHM7XG59XG5cbi8qKlxuICogV2hldGhlciB0aGUgbm9kZSBkZXNjcmliZXMgdGhlIHR5cGUgY29tcGxldGVseTogaXQgZGVwZW5kcyBvbiBubyB0eXBlIHBhcmFtZXRlciwgYW5kIGluZmVyZW5jZSBoYXMgbm90IGNoYW5nZWQgdGhlIHR5cGUuXG4gKiBAcGFyYW0ge3RzLlR5cGVDaGVja2VyfSBjaGVja2VyIEBwYXJhbSB7dHMuVHlwZU5vZGV9IG5vZGUgQHBhcmFtIHt0cy5UeXBlfSB0eXBlXG4gKi9cbmZ1bmN0aW9uIGlzV2hvbGUoY2hlY2tlciwgbm9kZSwgdHlwZSkge1xuICBjb25zdCBpc09wZW4gPSBjb250YWlucyhcbiAgICBub2RlLFxuICAgIChwYXJ0KSA9PlxuICAgICAgdHMuaXNUaGlzVHlwZU5vZGUocGFydCkgfHxcbiAgICAgIHRzLmlzVHlwZVByZWRpY2F0ZU5vZGUocGFydCkgfHxcbiAgICAgIC8vIGBrZXlvZiB0eXBlb2YgVEFCTEVgIGlzIG1lYW5pbmdsZXNzIHdpdGhvdXQgdGhlIHRhYmxlLlxuICAgICAgdHMuaXNUeXBlUXVlcnlOb2RlKHBhcnQpIHx8XG4gICAgICAodHMuaXNUeXBlUmVmZXJlbmNlTm9kZShwYXJ0KSAmJlxuICAgICAgICAoKGNoZWNrZXIuZ2V0U3ltYm9sQXRMb2NhdGlvbihwYXJ0LnR5cGVOYW1lKT8uZmxhZ3MgPz8gMCkgJiB0cy5TeW1ib2xGbGFncy5UeXBlUGFyYW1ldGVyKSAhPT0gMCksXG4gICk7XG4gIHJldHVybiAhaXNPcGVuICYmIGNoZWNrZXIuaXNUeXBlQXNzaWduYWJsZVRvKGNoZWNrZXIuZ2V0VHlwZUZyb21UeXBlTm9kZShub2RlKSwgdHlwZSk7XG59XG5cbi8qKiBAcGFyYW0ge3RzLk5vZGV9IG5vZGUgQHBhcmFtIHsocGFydDogdHMuTm9kZSkgPT4gYm9vbGVhbn0gaXMgQHJldHVybnMge2Jvb2xlYW59ICovXG5jb25zdCBjb250YWlucyA9IChub2RlLCBpcykgPT4gaXMobm9kZSkgfHwgdHMuZm9yRWFjaENoaWxkKG5vZGUsIChwYXJ0KSA9PiBjb250YWlucyhwYXJ0LCBpcykpID09PSB0cnVlO1xuXG4vKipcbiAqIEZpeGVzIGNvbW1lbnRzOiB0aGUgY29tbWVudCBhdCB0aGUgdG9wIG9mIGEgZmlsZSBiZWxvbmdzIHRvIGl0cyBwYWdlIG9ubHksIGFuZCB1bmRvY3VtZW50ZWQgb3B0aW9ucyBsaW5rIHRvIHRoZWlyIGZ1bmN0aW9ucy5cbiAqIEBwYXJhbSB7UHJvamVjdH0gcHJvamVjdCBAcGFyYW0ge1JlYWRvbmx5TWFwPHN0cmluZywgc3RyaW5nPn0gaGVhZHMgb2YgZW50cmllc1xuICovXG5leHBvcnQgZnVuY3Rpb24gZGVzY3JpYmUocHJvamVjdCwgaGVhZHMpIHtcbiAgY29uc3QgdGV4dHMgPSBuZXcgU2V0KGhlYWRzLnZhbHVlcygpKTtcbiAgZm9yIChjb25zdCBvbmUgb2YgT2JqZWN0LnZhbHVlcyhwcm9qZWN0LnJlZmxlY3Rpb25zKSlcbiAgICBpZiAob25lLmNvbW1lbnQgIT09IHVuZGVmaW5lZCAmJiB0ZXh0cy5oYXMoQ29tbWVudC5jb21iaW5lRGlzcGxheVBhcnRzKG9uZS5jb21tZW50LnN1bW1hcnkpKSlcbiAgICAgIGRlbGV0ZSBvbmUuY29tbWVudDtcbiAgZm9yIChjb25zdCBtb2R1bGUgb2YgcHJvamVjdC5jaGlsZHJlbiA/PyBbXSlcbiAgICBtb2R1bGUuY29tbWVudCA9IG5ldyBDb21tZW50KFt7IGtpbmQ6ICd0ZXh0JywgdGV4dDogaGVhZHMuZ2V0KG1vZHVsZS5uYW1lKSA/PyAnJyB9XSk7XG5cbiAgY29uc3QgdGFrZXJzID0gdGFrZXJzT2YocHJvamVjdCk7XG4gIGZvciAoY29uc3Qgb25lIG9mIHByb2plY3QuZ2V0UmVmbGVjdGlvbnNCeUtpbmQoUmVmbGVjdGlvbktpbmQuSW50ZXJmYWNlKSkge1xuICAgIGNvbnN0IGZ1bmN0aW9ucyA9IHRha2Vycy5nZXQob25lKTtcbiAgICBpZiAob25lLmNvbW1lbnQgIT09IHVuZGVmaW5lZCB8fCAhKG9uZSBpbnN0YW5jZW9mIERlY2xhcmF0aW9uUmVmbGVjdGlvbikpIGNvbnRpbnVlO1xuICAgIGNvbnN0IFtiYXNlXSA9IG9uZS5leHRlbmRlZFR5cGVzID8/IFtdO1xuICAgIGlmIChiYXNlIGluc3RhbmNlb2YgUmVmZXJlbmNlVHlwZSAmJiBiYXNlLnJlZmxlY3Rpb24/LmNvbW1lbnQpIG9uZS5jb21tZW50ID0gYmFzZS5yZWZsZWN0aW9uLmNvbW1lbnQ7XG4gICAgaWYgKGZ1bmN0aW9ucyA9PT0gdW5kZWZpbmVkKSBjb250aW51ZTtcbiAgICAvKiogQHR5cGUge2ltcG9ydCgndHlwZWRvYycpLkNvbW1lbnREaXNwbGF5UGFydFtdfSAqL1xuICAgIGNvbnN0IGxpbmtzID0gWy4uLmZ1bmN0aW9uc10uZmxhdE1hcCgodGFyZ2V0LCBpKSA9PiBbXG4gICAgICB7IGtpbmQ6ICd0ZXh0JywgdGV4dDogaSA9PT0gMCA/ICdPcHRpb25zIG9mICcgOiAnLCAnIH0sXG4gICAgICB7IGtpbmQ6ICdpbmxpbmUtdGFnJywgdGFnOiAnQGxpbmtjb2RlJywgdGV4dDogdGFyZ2V0Lm5hbWUsIHRhcmdldCB9LFxuICAgIF0pO1xuICAgIG9uZS5jb21tZW50ID0gbmV3IENvbW1lbnQoWy4uLmxpbmtzLCB7IGtpbmQ6ICd0ZXh0JywgdGV4dDogJy4nIH1dKTtcbiAgfVxufVxuXG5jb25zdCBUT0xEID1cbiAgUmVmbGVjdGlvbktpbmQuRnVuY3Rpb24gfFxuICBSZWZsZWN0aW9uS2luZC5DbGFzcyB8XG4gIFJlZmxlY3Rpb25LaW5kLkludGVyZmFjZSB8XG4gIFJlZmxlY3Rpb25LaW5kLlR5cGVBbGlhcyB8XG4gIFJlZmxlY3Rpb25LaW5kLlZhcmlhYmxlIHxcbiAgUmVmbGVjdGlvbktpbmQuUHJvcGVydHkgfFxuICBSZWZsZWN0aW9uS2luZC5NZXRob2QgfFxuICBSZWZsZWN0aW9uS2luZC5BY2Nlc3NvcjtcblxuLyoqIE5hbWVzIHdpdGhvdXQgYSBjb21tZW50LiBNZW1iZXJzIG9mIGFuIGlubGluZSB0eXBlIGFyZSBjb3ZlcmVkIGJ5IHRoZSBjb21tZW50IG9mIHdoYXQgaGFzIHRoaXMgdHlwZS4gQHBhcmFtIHtQcm9qZWN0fSBwcm9qZWN0ICovXG5leHBvcnQgZnVuY3Rpb24gc2lsZW50KHByb2plY3QpIHtcbiAgcmV0dXJuIHByb2plY3RcbiAgICAuZ2V0UmVmbGVjdGlvbnNCeUtpbmQoVE9MRClcbiAgICAuZmlsdGVyKChvbmUpID0+ICFpc1dyaXR0ZW5PdXQob25lKSAmJiAhaXNUb2xkKG9uZSkpXG4gICAgLm1hcCgob25lKSA9PiBvbmUuZ2V0RnJpZW5kbHlGdWxsTmFtZSgpKTtcbn1cblxuLyoqIEBwYXJhbSB7UmVmbGVjdGlvbn0gb25lIEByZXR1cm5zIHtib29sZWFufSAqL1xuY29uc3QgaXNXcml0dGVuT3V0ID0gKHsgcGFyZW50IH0pID0+XG4gIHBhcmVudCAhPT0gdW5kZWZpbmVkICYmXG4gIChwYXJlbnQua2luZE9mKFJlZmxlY3Rpb25LaW5kLlR5cGVMaXRlcmFsIHwgUmVmbGVjdGlvbktpbmQuUGFyYW1ldGVyKSB8fCBpc1dyaXR0ZW5PdXQocGFyZW50KSk7XG5cbi8qKiBAcGFyYW0ge1JlZmxlY3Rpb259IG9uZSAqL1xuZnVuY3Rpb24gaXNUb2xkKG9uZSkge1xuICBpZiAob25lLmhhc0NvbW1lbnQoKSB8fCAhKG9uZSBpbnN0YW5jZW9mIERlY2xhcmF0aW9uUmVmbGVjdGlvbikpIHJldHVybiBvbmUuaGFzQ29tbWVudCgpO1xuICBjb25zdCB7IHNpZ25hdHVyZXMgPSBbXSwgZ2V0U2lnbmF0dXJlLCB0eXBlIH0gPSBvbmU7XG4gIGNvbnN0IGluVHlwZSA9IHR5cGUgaW5zdGFuY2VvZiBSZWZsZWN0aW9uVHlwZSA/ICh0eXBlLmRlY2xhcmF0aW9uLnNpZ25hdHVyZXMgPz8gW10pIDogW107XG4gIHJldHVybiBbLi4uc2lnbmF0dXJlcywgLi4uaW5UeXBlLCAuLi4oZ2V0U2lnbmF0dXJlID8gW2dldFNpZ25hdHVyZV0gOiBbXSldLnNvbWUoKHR3bykgPT4gdHdvLmhhc0NvbW1lbnQoKSk7XG59XG5cbi8qKiBUaGUgZnVuY3Rpb25zIGFuZCBjbGFzc2VzIHRoYXQgdGFrZSBhbiBvcHRpb25zIHR5cGUsIGJ5IHRoYXQgdHlwZS4gQHBhcmFtIHtQcm9qZWN0fSBwcm9qZWN0ICovXG5mdW5jdGlvbiB0YWtlcnNPZihwcm9qZWN0KSB7XG4gIC8qKiBAdHlwZSB7TWFwPFJlZmxlY3Rpb24sIFNldDxSZWZsZWN0aW9uPj59ICovXG4gIGNvbnN0IHRha2VycyA9IG5ldyBNYXAoKTtcbiAgZm9yIChjb25zdCBvbmUgb2YgT2JqZWN0LnZhbHVlcyhwcm9qZWN0LnJlZmxlY3Rpb25zKSkge1xuICAgIGNvbnN0IG93bmVyID0gb25lLnBhcmVudD8ucGFyZW50O1xuICAgIGlmICghKG9uZSBpbnN0YW5jZW9mIFBhcmFtZXRlclJlZmxlY3Rpb24pIHx8IG93bmVyID09PSB1bmRlZmluZWQpIGNvbnRpbnVlO1xuICAgIGNvbnN0IHRha2VyID0gb3duZXIua2luZE9mKFJlZmxlY3Rpb25LaW5kLkNvbnN0cnVjdG9yKSA/IG93bmVyLnBhcmVudCA6IG93bmVyO1xuICAgIGlmICghdGFrZXI/LmtpbmRPZihSZWZsZWN0aW9uS2luZC5GdW5jdGlvbiB8IFJlZmxlY3Rpb25LaW5kLk1ldGhvZCB8IFJlZmxlY3Rpb25LaW5kLkNsYXNzKSkgY29udGludWU7XG4gICAgb25lLnR5cGU/LnZpc2l0KFxuICAgICAgbWFrZVJlY3Vyc2l2ZVZpc2l0b3Ioe1xuICAgICAgICByZWZlcmVuY2UoeyByZWZsZWN0aW9uIH0pIHtcbiAgICAgICAgICBpZiAoIXJlZmxlY3Rpb24/Lm5hbWUuZW5kc1dpdGgoJ09wdGlvbnMnKSkgcmV0dXJuO1xuICAgICAgICAgIHRha2Vycy5zZXQocmVmbGVjdGlvbiwgKHRha2Vycy5nZXQocmVmbGVjdGlvbikgPz8gbmV3IFNldCgpKS5hZGQodGFrZXIpKTtcbiAgICAgICAgfSxcbiAgICAgIH0pLFxuICAgICk7XG4gIH1cbiAgcmV0dXJuIHRha2Vycztcbn1cblxuLyoqXG4gKiBSZW1vdmVzIGRldGFpbHMgdGhhdCBkbyBub3QgaGVscCByZWFkZXJzOiB3aGVyZSBhIG1lbWJlciBpcyBpbmhlcml0ZWQgZnJvbSwgYmFzZSB0eXBlcyB3aXRob3V0IGFuIGVudHJ5LCBhbmQgbG9uZyBsaXN0cyBvZlxuICogdHlwZSBhcmd1bWVudHMgb2Ygb3RoZXIgcGFja2FnZXMnIHR5cGVzLlxuICogQHBhcmFtIHtQcm9qZWN0fSBwcm9qZWN0XG4gKi9cbmV4cG9ydCBmdW5jdGlvbiBwbGFpbihwcm9qZWN0KSB7XG4gIGNvbnN0IHZpc2l0b3IgPSBtYWtlUmVjdXJzaXZlVmlzaXRvcih7XG4gICAgcmVmZXJlbmNlKHR5cGUpIHtcbiAgICAgIGlmICh0eXBlLnJlZmxlY3Rpb24gPT09IHVuZGVmaW5lZCAmJiAodHlwZS50eXBlQXJndW1lbnRzPy5sZW5ndGggPz8gMCkgPiA0KSBkZWxldGUgdHlwZS50eXBlQXJndW1lbnRzO1xuICAgIH0sXG4gIH0pO1xuICBmb3IgKGNvbnN0IG9uZSBvZiBPYmplY3QudmFsdWVzKHByb2plY3QucmVmbGVjdGlvbnMpKSB7XG4gICAgaWYgKG9uZSBpbnN0YW5jZW9mIFBhcmFtZXRlclJlZmxlY3Rpb24pIG9uZS50eXBlPy52aXNpdCh2aXNpdG9yKTtcbiAgICBpZiAoIShvbmUgaW5zdGFuY2VvZiBEZWNsYXJhdGlvblJlZmxlY3Rpb24gfHwgb25lIGluc3RhbmNlb2YgU2lnbmF0dXJlUmVmbGVjdGlvbikpIGNvbnRpbnVlO1xuICAgIG9uZS50eXBlPy52aXNpdCh2aXNpdG9yKTtcbiAgICBkZWxldGUgb25lLmluaGVyaXRlZEZyb207XG4gICAgZGVsZXRlIG9uZS5vdmVyd3JpdGVzO1xuICAgIGRlbGV0ZSBvbmUuaW1wbGVtZW50YXRpb25PZjtcbiAgICBpZiAob25lIGluc3RhbmNlb2YgU2lnbmF0dXJlUmVmbGVjdGlvbiB8fCBvbmUudHlwZUhpZXJhcmNoeSA9PT0gdW5kZWZpbmVkKSBjb250aW51ZTtcbiAgICBjb25zdCB7IHR5cGVzLCBuZXh0LCBpc1RhcmdldCB9ID0gb25lLnR5cGVIaWVyYXJjaHk7XG4gICAgY29uc3QgYmFzZXMgPSBpc1RhcmdldCA/IFtdIDogdHlwZXMuZmlsdGVyKChiYXNlKSA9PiBoYXNFbnRyeShiYXNlKSB8fCBpc0ZvcmVpZ24oYmFzZSkpO1xuICAgIGlmIChiYXNlcy5sZW5ndGggPT09IDApIGRlbGV0ZSBvbmUudHlwZUhpZXJhcmNoeTtcbiAgICBlbHNlIG9uZS50eXBlSGllcmFyY2h5ID0geyB0eXBlczogYmFzZXMsIG5leHQ6IHsgdHlwZXM6IG5leHQ/LnR5cGVzID8/IFtdLCBpc1RhcmdldDogdHJ1ZSB9IH07XG4gIH1cbn1cblxuLyoqIEBwYXJhbSB7aW1wb3J0KCd0eXBlZG9jJykuU29tZVR5cGV9IHR5cGUgKi9cbmNvbnN0IGhhc0VudHJ5ID0gKHR5cGUpID0+ICEodHlwZSBpbnN0YW5jZW9mIFJlZmVyZW5jZVR5cGUpIHx8IHR5cGUucmVmbGVjdGlvbiAhPT0gdW5kZWZpbmVkO1xuXG4vKiogV2hldGhlciBhIHR5cGUgYmVsb25ncyB0byBhbm90aGVyIHBhY2thZ2Ugb3IgdG8gdGhlIGxhbmd1YWdlLiBAcGFyYW0ge2ltcG9ydCgndHlwZWRvYycpLlNvbWVUeXBlfSB0eXBlICovXG5jb25zdCBpc0ZvcmVpZ24gPSAodHlwZSkgPT4gdHlwZSBpbnN0YW5jZW9mIFJlZmVyZW5jZVR5cGUgJiYgIS9ec2x1aWNlKC1cXHcrKT8kLy50ZXN0KHR5cGUucGFja2FnZSA/PyAnJyk7XG5cbi8qKiBTb3J0cyBuYW1lcyBhbHBoYWJldGljYWxseTsgdGhlaXIgbWVtYmVycyBrZWVwIHRoZSBvcmRlciBvZiB0aGUgc291cmNlLiBAcGFyYW0ge1Byb2plY3R9IHByb2plY3QgKi9cbmV4cG9ydCBmdW5jdGlvbiBvcmRlcihwcm9qZWN0KSB7XG4gIGZvciAoY29uc3QgbW9kdWxlIG9mIHByb2plY3QuY2hpbGRyZW4gPz8gW10pXG4gICAgZm9yIChjb25zdCBncm91cCBvZiBtb2R1bGUuZ3JvdXBzID8/IFtdKVxuICAgICAgZ3JvdXAuY2hpbGRyZW4uc29ydCgoYSwgYikgPT4gYS5uYW1lLmxvY2FsZUNvbXBhcmUoYi5uYW1lLCAnZW4nKSk7XG59XG4iXSwKICAibWFwcGluZ3MiOiAiO0FBR0EsU0FBUyxvQkFBb0I7OztBQ0E3QixTQUFTLGFBQUFBLFlBQVcsaUJBQUFDLHNCQUFxQjtBQUN6QyxTQUFTLFdBQUFDLFVBQVMsUUFBQUMsYUFBWTs7O0FDRzlCLFNBQVMsUUFBUSxjQUFBQyxhQUFZLFdBQVcsZUFBQUMsY0FBYSxVQUFVLHFCQUFxQjtBQUNwRixTQUFTLFdBQUFDLFVBQVMsUUFBQUMsT0FBTSxVQUFVLGVBQWU7OztBQ0xqRCxTQUFTLFlBQVksYUFBYSxvQkFBb0I7QUFDdEQsU0FBUyxTQUFTLFlBQVk7QUFDOUIsU0FBUyxxQkFBcUI7QUFMeUgsSUFBTSwyQ0FBMkM7QUFPak0sSUFBTSxPQUFPLEtBQUssUUFBUSxjQUFjLHdDQUFlLENBQUMsR0FBRyxPQUFPO0FBR2xFLElBQU0sV0FBVztBQUFBLEVBQ3RCO0FBQUEsRUFDQTtBQUFBLEVBQ0E7QUFBQSxFQUNBO0FBQUEsRUFDQTtBQUFBLEVBQ0E7QUFBQSxFQUNBO0FBQUEsRUFDQTtBQUNGO0FBR0EsSUFBTTtBQUFBO0FBQUEsRUFBa0M7QUFBQSxJQUN0QyxDQUFDLHFCQUFxQixVQUFVO0FBQUEsSUFDaEMsQ0FBQywyQkFBMkIsSUFBSTtBQUFBLElBQ2hDLENBQUMsZ0JBQWdCLGFBQWE7QUFBQSxJQUM5QixDQUFDLHNCQUFzQix1QkFBdUI7QUFBQSxJQUM5QyxDQUFDLG1CQUFtQixZQUFZO0FBQUEsSUFDaEMsQ0FBQyxrQkFBa0IsYUFBYTtBQUFBLElBQ2hDLENBQUMseUJBQXlCLGlDQUFpQztBQUFBLElBQzNELENBQUMsNkJBQTZCLFlBQVk7QUFBQSxJQUMxQyxDQUFDLGdCQUFnQixJQUFJO0FBQUEsSUFDckIsQ0FBQyw2QkFBNkIsWUFBWTtBQUFBLElBQzFDLENBQUMsMEJBQTBCLGFBQWE7QUFBQSxJQUN4QyxDQUFDLHNFQUFzRSxVQUFVO0FBQUEsSUFDakYsQ0FBQyxpREFBaUQsT0FBTztBQUFBLElBQ3pELENBQUMseUNBQXlDLFdBQVc7QUFBQSxJQUNyRCxDQUFDLHNDQUFzQyxlQUFlO0FBQUEsSUFDdEQsQ0FBQyxvQ0FBb0MsU0FBUztBQUFBLEVBQ2hEO0FBQUE7QUFHTyxTQUFTLFVBQVUsTUFBTTtBQUM5QixhQUFXLENBQUMsTUFBTSxFQUFFLEtBQUssV0FBVztBQUNsQyxVQUFNLFFBQVEsS0FBSyxLQUFLLElBQUk7QUFDNUIsUUFBSSxVQUFVLEtBQU0sUUFBTyxHQUFHLFFBQVEsV0FBVyxDQUFDLEdBQUcsVUFBVSxNQUFNLE9BQU8sS0FBSyxDQUFDLEtBQUssRUFBRTtBQUFBLEVBQzNGO0FBQ0EsU0FBTztBQUNUO0FBR08sSUFBTSxTQUFTLENBQUMsU0FBUyxhQUFhLEtBQUssTUFBTSxJQUFJLEdBQUcsTUFBTTtBQUdyRSxTQUFTLFFBQVEsTUFBTTtBQUNyQixVQUFRLFlBQVksS0FBSyxPQUFPLElBQUksQ0FBQyxJQUFJLENBQUMsS0FBSyxNQUFNLFdBQVcsS0FBSyxFQUFFO0FBQ3pFO0FBR0EsU0FBUyxNQUFNLE1BQU0sT0FBTyxRQUFRLElBQUksR0FBRztBQUN6QyxTQUFPLEVBQUUsTUFBTSxNQUFNLElBQUksVUFBVSxJQUFJLENBQUMsR0FBRztBQUM3QztBQUdBLFNBQVMsUUFBUUMsU0FBUSxTQUFTO0FBQ2hDLFNBQU8sWUFBWSxLQUFLLE1BQU1BLE9BQU0sR0FBRyxFQUFFLFdBQVcsTUFBTSxVQUFVLE9BQU8sQ0FBQyxFQUN6RSxJQUFJLENBQUMsU0FBUyxLQUFLLFdBQVcsTUFBTSxHQUFHLENBQUMsRUFDeEMsT0FBTyxDQUFDLFNBQVMsUUFBUSxLQUFLLElBQUksQ0FBQyxFQUNuQyxLQUFLLEVBQ0wsSUFBSSxDQUFDLFNBQVMsR0FBR0EsT0FBTSxJQUFJLElBQUksRUFBRTtBQUN0QztBQUdBLFNBQVMsT0FBT0EsU0FBUSxPQUFPLFVBQVUsMEJBQTBCO0FBQ2pFLFFBQU1DLFNBQVEsUUFBUUQsU0FBUSxPQUFPO0FBQ3JDLFFBQU0sUUFBUSxNQUFNLElBQUksQ0FBQyxTQUFTLEdBQUdBLE9BQU0sSUFBSSxJQUFJLEtBQUs7QUFDeEQsU0FBTyxDQUFDLEdBQUcsT0FBTyxHQUFHQyxPQUFNLE9BQU8sQ0FBQyxTQUFTLENBQUMsTUFBTSxTQUFTLElBQUksQ0FBQyxDQUFDLEVBQUUsSUFBSSxDQUFDLFNBQVMsTUFBTSxJQUFJLENBQUM7QUFDL0Y7QUFFQSxJQUFNLFNBQVM7QUFBQSxFQUNiO0FBQUEsRUFDQTtBQUFBLEVBQ0E7QUFBQSxFQUNBO0FBQUEsRUFDQTtBQUFBLEVBQ0E7QUFBQSxFQUNBO0FBQUEsRUFDQTtBQUFBLEVBQ0E7QUFBQSxFQUNBO0FBQUEsRUFDQTtBQUNGO0FBRUEsSUFBTSxTQUFTLENBQUMsc0JBQXNCLGVBQWUsY0FBYztBQUc1RCxTQUFTLFFBQVEsV0FBVztBQUNqQyxRQUFNLFNBQVM7QUFDZixTQUFPO0FBQUEsSUFDTDtBQUFBLE1BQ0UsTUFBTTtBQUFBLE1BQ04sT0FBTztBQUFBLFFBQ0wsTUFBTSxlQUFlO0FBQUEsUUFDckIsTUFBTSxnQkFBZ0I7QUFBQSxRQUN0QixNQUFNLGFBQWEsd0JBQXdCO0FBQUEsUUFDM0MsTUFBTSxzQkFBc0I7QUFBQSxNQUM5QjtBQUFBLElBQ0Y7QUFBQSxJQUNBLEVBQUUsTUFBTSxVQUFVLE9BQU8sT0FBTyxlQUFlLE1BQU0sRUFBRTtBQUFBLElBQ3ZEO0FBQUEsTUFDRSxNQUFNO0FBQUEsTUFDTixPQUFPO0FBQUEsUUFDTCxNQUFNLDZCQUE2QixpQkFBaUI7QUFBQSxRQUNwRCxHQUFHLE9BQU8sbUJBQW1CLENBQUMsU0FBUyxDQUFDO0FBQUEsTUFDMUM7QUFBQSxJQUNGO0FBQUEsSUFDQTtBQUFBLE1BQ0UsTUFBTTtBQUFBLE1BQ04sT0FBTztBQUFBLFFBQ0wsTUFBTSxvQ0FBb0MsWUFBWTtBQUFBLFFBQ3RELE1BQU0sK0JBQStCO0FBQUEsUUFDckMsTUFBTSw2QkFBNkI7QUFBQSxNQUNyQztBQUFBLElBQ0Y7QUFBQSxJQUNBO0FBQUEsTUFDRSxNQUFNO0FBQUEsTUFDTixPQUFPLENBQUMsTUFBTSx3QkFBd0IsR0FBRyxHQUFHLE9BQU8sZ0JBQWdCLENBQUMsQ0FBQyxDQUFDO0FBQUEsSUFDeEU7QUFBQSxJQUNBO0FBQUEsTUFDRSxNQUFNO0FBQUEsTUFDTixXQUFXO0FBQUEsTUFDWCxPQUFPLE9BQU8sR0FBRyxNQUFNLGVBQWUsQ0FBQyxhQUFhLEdBQUcsc0JBQXNCO0FBQUEsSUFDL0U7QUFBQSxJQUNBO0FBQUEsTUFDRSxNQUFNO0FBQUEsTUFDTixXQUFXO0FBQUEsTUFDWCxPQUFPO0FBQUEsUUFDTCxHQUFHLE9BQU8sR0FBRyxNQUFNLFdBQVcsQ0FBQyxpQkFBaUIsY0FBYyxHQUFHLHNCQUFzQjtBQUFBLFFBQ3ZGLEdBQUcsT0FBTyxRQUFRLENBQUMsR0FBRyxzQkFBc0I7QUFBQSxNQUM5QztBQUFBLElBQ0Y7QUFBQSxJQUNBLEVBQUUsTUFBTSxhQUFhLFdBQVcsTUFBTSxPQUFPLFVBQVUsSUFBSSxDQUFDLFNBQVMsTUFBTSxJQUFJLENBQUMsRUFBRTtBQUFBLElBQ2xGO0FBQUEsTUFDRSxNQUFNO0FBQUEsTUFDTixXQUFXO0FBQUEsTUFDWCxPQUFPLE9BQU8sZUFBZSxDQUFDLENBQUM7QUFBQSxJQUNqQztBQUFBLElBQ0E7QUFBQSxNQUNFLE1BQU07QUFBQSxNQUNOLE9BQU87QUFBQSxRQUNMLEdBQUcsT0FBTyxRQUFRLENBQUMsY0FBYyxZQUFZLEdBQUcsMkNBQTJDO0FBQUEsUUFDM0YsTUFBTSx1QkFBdUI7QUFBQSxRQUM3QixHQUFHLE9BQU8sT0FBTyxDQUFDLFNBQVMsV0FBVyxLQUFLLE1BQU0sSUFBSSxDQUFDLENBQUMsRUFBRSxJQUFJLENBQUMsU0FBUyxNQUFNLElBQUksQ0FBQztBQUFBLE1BQ3BGO0FBQUEsSUFDRjtBQUFBLElBQ0E7QUFBQSxNQUNFLE1BQU07QUFBQSxNQUNOLFdBQVc7QUFBQSxNQUNYLE9BQU87QUFBQSxRQUNMLE1BQU0saUJBQWlCO0FBQUEsUUFDdkIsR0FBRyxPQUFPLHFCQUFxQixDQUFDLGdCQUFnQixjQUFjLFVBQVUsT0FBTyxDQUFDO0FBQUEsUUFDaEYsTUFBTSxvQkFBb0I7QUFBQSxNQUM1QjtBQUFBLElBQ0Y7QUFBQSxJQUNBO0FBQUEsTUFDRSxNQUFNO0FBQUEsTUFDTixXQUFXO0FBQUEsTUFDWCxPQUFPLENBQUMsTUFBTSw0QkFBNEIsS0FBSyxHQUFHLEdBQUcsT0FBTyxrQkFBa0IsQ0FBQyxDQUFDLENBQUM7QUFBQSxJQUNuRjtBQUFBLEVBQ0Y7QUFDRjs7O0FDaktBLElBQU0sUUFBUSxFQUFFLEdBQUcsS0FBSyxHQUFHLElBQUk7QUFHL0IsSUFBTSxNQUFNO0FBS0wsU0FBUyxRQUFRLFFBQVE7QUFDOUIsUUFBTSxDQUFDLFVBQVUsSUFBSSxVQUFVLElBQUksT0FBTyxJQUFJLE9BQU8sRUFBRSxJQUFJLE9BQU8sTUFBTSxHQUFHLEVBQUUsSUFBSSxDQUFDLFNBQVMsS0FBSyxLQUFLLENBQUM7QUFDdEcsUUFBTSxNQUFNLE9BQU8sT0FBTyx1QkFBdUIsR0FBRyxTQUFTLFFBQVEsTUFBTSxLQUFLLENBQUM7QUFDakYsUUFBTSxPQUFPLElBQUksT0FBTyxDQUFDLEVBQUUsS0FBSyxNQUFNLEtBQUssV0FBVyxJQUFJLENBQUM7QUFDM0QsTUFBSSxLQUFLLFdBQVcsRUFBRyxPQUFNLElBQUksTUFBTSxvQ0FBb0MsSUFBSSxlQUFlLE9BQU8sRUFBRTtBQUN2RyxTQUFPLEtBQUssTUFBTSxHQUFHLE9BQU8sS0FBSyxJQUFJLElBQUksSUFBSTtBQUMvQztBQUdPLFNBQVMsT0FBTyxTQUFTLFNBQVMsU0FBUztBQUNoRCxRQUFNLE9BQU8sUUFBUSxNQUFNLFFBQVEsT0FBTyxZQUFZLEVBQUUsQ0FBQyxHQUFHLE1BQU0sUUFBUSxPQUFPLFVBQVUsRUFBRSxDQUFDO0FBQzlGLGFBQVcsU0FBUyxNQUFNLE1BQU0sZ0JBQWdCLEtBQUssQ0FBQyxHQUFHO0FBQ3ZELFVBQU0sQ0FBQyxPQUFPLENBQUMsR0FBRyxFQUFFLEdBQUcsSUFBSSxJQUFJLE1BQU0sS0FBSyxFQUFFLE1BQU0sSUFBSSxFQUFFLElBQUksT0FBTztBQUNuRSxVQUFNLFNBQVMsUUFBUSxJQUFJLENBQUMsV0FBVyxLQUFLLFFBQVEsTUFBTSxDQUFDO0FBQzNELFFBQUksT0FBTyxTQUFTLEVBQUUsRUFBRztBQUN6QixXQUFPLEtBQUs7QUFBQSxNQUFRLENBQUMsUUFDbkIsT0FBTztBQUFBLFFBQVEsQ0FBQyxPQUFPLE1BQ3JCLE9BQU8sSUFBSSxDQUFDLEtBQUssSUFBSSxJQUFJLEtBQUssS0FBSyxJQUFJLFFBQVEsU0FBUyxJQUFLLFFBQVEsQ0FBQyxLQUFLLEtBQU0sRUFBRTtBQUFBLE1BQ3JGO0FBQUEsSUFDRjtBQUFBLEVBQ0Y7QUFDQSxRQUFNLElBQUksTUFBTSx1Q0FBdUMsUUFBUSxLQUFLLElBQUksQ0FBQyxlQUFlLE9BQU8sRUFBRTtBQUNuRztBQUdBLFNBQVMsT0FBTyxNQUFNLE1BQU0sUUFBUTtBQUNsQyxRQUFNLENBQUMsU0FBUyxJQUFJLEtBQUssSUFBSSxLQUFLLE1BQU0sVUFBSztBQUM3QyxRQUFNLFFBQ0osVUFBVSxTQUNOLENBQUMsRUFBRSxRQUFRLE1BQU0sS0FBSyxDQUFDLElBQ3ZCO0FBQUEsSUFDRSxFQUFFLFFBQVEsVUFBVSxNQUFNLE9BQU87QUFBQSxJQUNqQyxFQUFFLFFBQVEsU0FBUyxNQUFNLE1BQU07QUFBQSxFQUNqQztBQUNOLFFBQU0sT0FBTyxNQUFNLElBQUksQ0FBQyxVQUFVLEVBQUUsTUFBTSxHQUFHLE1BQU0sT0FBTyxTQUFTLEtBQUssSUFBSSxFQUFFLEVBQUU7QUFDaEYsU0FBTyxLQUFLLE1BQU0sQ0FBQyxFQUFFLE1BQU0sTUFBTSxPQUFPLFNBQVMsS0FBSyxDQUFDLElBQUksT0FBTyxDQUFDO0FBQ3JFO0FBR0EsU0FBUyxTQUFTLE1BQU07QUFDdEIsUUFBTSxDQUFDLEVBQUUsUUFBUSxPQUFPLEVBQUUsSUFBSSxtQkFBbUIsS0FBSyxLQUFLLFdBQVcsS0FBSyxFQUFFLENBQUMsS0FBSyxDQUFDO0FBQ3BGLFNBQU8sT0FBTyxNQUFNLEtBQUssTUFBTSxJQUFJLEtBQUs7QUFDMUM7QUFHQSxJQUFNLFVBQVUsQ0FBQyxTQUNmLEtBQ0csTUFBTSxHQUFHLEVBQUUsRUFDWCxNQUFNLEdBQUcsRUFDVCxJQUFJLENBQUMsU0FBUyxLQUFLLEtBQUssQ0FBQztBQUc5QixTQUFTLEtBQUssTUFBTUMsUUFBTyxNQUFNO0FBQy9CLFFBQU0sU0FBUyxLQUFLLElBQUksQ0FBQyxFQUFFLE1BQU0sTUFBTSxLQUFLLEVBQUUsS0FBSyxDQUFDLEdBQUcsTUFBTSxJQUFJLENBQUM7QUFDbEUsUUFBTSxTQUFTLE9BQU8sT0FBTyxVQUFVLENBQUMsS0FBSztBQUU3QyxRQUFNLE9BQU8sT0FBTyxTQUFTLENBQUMsVUFBVSxTQUFTLFNBQVMsQ0FBQyxLQUFLO0FBQ2hFLFFBQU0sV0FBVyxLQUFLLE1BQU0sQ0FBQyxFQUFFLEtBQUssTUFBTSxTQUFTLEtBQUssQ0FBQyxHQUFHLElBQUk7QUFDaEUsUUFBTSxRQUFRLEtBQUssSUFBSSxNQUFNO0FBRTdCLFFBQU0sVUFBVSxDQUFDLE1BQU0sU0FBUyxLQUFLO0FBQ3JDLFFBQU0sUUFBUSxLQUFLLElBQUksQ0FBQyxFQUFFLE1BQU0sUUFBUSxPQUFPLEtBQUssR0FBRyxNQUFNO0FBQzNELFVBQU0sUUFBUSxXQUFXLFVBQVUsT0FBTyxLQUFLLElBQUksQ0FBQyxHQUFHLFNBQVMsT0FBTyxLQUFLO0FBRTVFLFVBQU0sU0FBUyxjQUFjLEtBQUssSUFBSSxJQUFJLE9BQU8sS0FBSyxRQUFRLFVBQVUsRUFBRTtBQUMxRSxVQUFNLFFBQVEsR0FBRyxNQUFNLEdBQUcsUUFBUSxPQUFPLGdCQUFXLEVBQUU7QUFDdEQsVUFBTSxRQUFRLEtBQUssSUFBSSxPQUFPLElBQUksSUFBSSxNQUFNLFFBQVEsQ0FBQztBQUNyRCxXQUFPO0FBQUEsTUFDTCxzQkFBc0IsUUFBUSxLQUFLLENBQUM7QUFBQSxNQUNwQywwQ0FBMEMsVUFBVSxRQUFRLE1BQU0sQ0FBQyxDQUFDLG9CQUFvQixJQUFJO0FBQUEsTUFDNUYsd0JBQXdCLFFBQVEsS0FBSyxDQUFDO0FBQUEsSUFDeEMsRUFBRSxLQUFLLEVBQUU7QUFBQSxFQUNYLENBQUM7QUFDRCxTQUFPLGtFQUFrRSxRQUFRQSxNQUFLLENBQUMsS0FBSyxNQUFNLEtBQUssRUFBRSxDQUFDLHFCQUFxQixRQUFRLElBQUksQ0FBQztBQUFBO0FBQzlJO0FBR0EsU0FBUyxPQUFPLEVBQUUsTUFBTSxPQUFPLEdBQUc7QUFDaEMsTUFBSSxXQUFXLFdBQVcsSUFBSSxLQUFLLFdBQVcsV0FBVyxLQUFLLEdBQUcsSUFBSSxJQUFJLE1BQU0sRUFBRSxFQUFHLFFBQU87QUFDM0YsU0FBTywrQ0FBK0MsS0FBSyxJQUFJLElBQUksU0FBUztBQUM5RTtBQUdBLElBQU0sVUFBVSxDQUFDLFNBQ2YsS0FBSyxXQUFXLEtBQUssT0FBTyxFQUFFLFdBQVcsS0FBSyxNQUFNLEVBQUUsV0FBVyxLQUFLLFFBQVEsRUFBRSxXQUFXLEtBQUssUUFBUTs7O0FGdEZuRyxTQUFTLE9BQU8sU0FBUztBQUM5QixTQUFPLFFBQ0osS0FBSyxFQUNMLFlBQVksRUFDWixXQUFXLHNCQUFzQixFQUFFLEVBQ25DLFdBQVcsS0FBSyxHQUFHO0FBQ3hCO0FBR08sU0FBUyxTQUFTLE1BQU0sTUFBTTtBQUNuQyxNQUFJLG1CQUFtQixLQUFLLElBQUksRUFBRyxRQUFPO0FBQzFDLFFBQU0sQ0FBQyxPQUFPLElBQUksTUFBTSxJQUFJLEtBQUssTUFBTSxHQUFHO0FBQzFDLFFBQU0sT0FBTyxTQUFTLE1BQU0sUUFBUSxNQUFNQyxTQUFRLElBQUksR0FBRyxJQUFJLENBQUMsRUFBRSxXQUFXLE1BQU0sR0FBRztBQUNwRixRQUFNLFNBQVMsV0FBVyxTQUFZLEtBQUssSUFBSSxNQUFNO0FBQ3JELE1BQUksS0FBSyxTQUFTLEtBQUssRUFBRyxRQUFPLEVBQUUsTUFBTSxNQUFNLElBQUksVUFBVSxJQUFJLENBQUMsR0FBRyxNQUFNLElBQUksUUFBUSxLQUFLO0FBQzVGLE1BQUksQ0FBQ0MsWUFBV0MsTUFBSyxNQUFNLElBQUksQ0FBQyxFQUFHLE9BQU0sSUFBSSxNQUFNLEdBQUcsSUFBSSxhQUFhLElBQUksd0JBQXdCO0FBQ25HLFNBQU8sRUFBRSxNQUFNLE1BQU0sVUFBVSxJQUFJLFFBQVEsUUFBUSxNQUFNO0FBQzNEO0FBR08sU0FBUyxtQkFBbUIsSUFBSUMsUUFBTztBQUM1QyxLQUFHLEtBQUssTUFBTSxLQUFLLG9CQUFvQixDQUFDLFVBQVU7QUFDaEQsVUFBTSxPQUFPLE9BQU8sTUFBTSxHQUFHO0FBQzdCLGVBQVcsU0FBUyxNQUFNO0FBQ3hCLGlCQUFXLFNBQVMsTUFBTSxZQUFZLENBQUMsR0FBRztBQUN4QyxZQUFJLE1BQU0sU0FBUyxZQUFhO0FBQ2hDLGNBQU0sU0FBUyxTQUFTLE1BQU0sTUFBTSxRQUFRLE1BQU0sS0FBSyxFQUFFO0FBQ3pELFlBQUksV0FBVyxPQUFXO0FBQzFCLGNBQU0sUUFBUSxRQUFRLE9BQU8sSUFBSTtBQUNqQyxZQUFJLENBQUMsT0FBTyxPQUFRLENBQUFBLE9BQU0sSUFBSSxPQUFPLElBQUk7QUFBQSxNQUMzQztBQUFBLEVBQ0osQ0FBQztBQUVELFFBQU0sT0FBTyxHQUFHLFNBQVMsTUFBTTtBQUMvQixLQUFHLFNBQVMsTUFBTSxhQUFhLENBQUMsUUFBUSxPQUFPLFNBQVMsS0FBSyxTQUFTO0FBQ3BFLFVBQU0sUUFBUSw0QkFBNEIsS0FBSyxPQUFPLEtBQUssR0FBRyxXQUFXLEVBQUU7QUFDM0UsUUFBSSxVQUFVLEtBQU0sUUFBTyxRQUFRLE1BQU0sQ0FBQyxLQUFLLEVBQUU7QUFDakQsV0FBTyxTQUFTLFNBQWEsT0FBTyxLQUFLLEdBQUcsV0FBVyxLQUFNLEtBQUssUUFBUSxPQUFPLFNBQVMsS0FBSyxJQUFJO0FBQUEsRUFDckc7QUFDRjtBQUdPLFNBQVMsVUFBVUEsUUFBTyxRQUFRO0FBQ3ZDLGFBQVcsUUFBUUEsUUFBTztBQUN4QixVQUFNLFNBQVNELE1BQUssUUFBUSxTQUFTLEdBQUcsSUFBSSxNQUFNO0FBQ2xELGNBQVVGLFNBQVEsTUFBTSxHQUFHLEVBQUUsV0FBVyxLQUFLLENBQUM7QUFDOUMsUUFBSSxDQUFDLFNBQVNFLE1BQUssTUFBTSxJQUFJLENBQUMsRUFBRSxZQUFZLEVBQUcsUUFBT0EsTUFBSyxNQUFNLElBQUksR0FBRyxNQUFNO0FBQUEsUUFDekUsZUFBYyxRQUFRLEdBQUdFLGFBQVlGLE1BQUssTUFBTSxJQUFJLENBQUMsRUFBRSxLQUFLLElBQUksQ0FBQztBQUFBLENBQUk7QUFBQSxFQUM1RTtBQUNGO0FBR0EsU0FBUyxPQUFPLEtBQUs7QUFDbkIsU0FBTyxTQUFTLE1BQU0sSUFBSSxVQUFVLEtBQUssSUFBSSxNQUFNLEtBQUssRUFBRSxFQUFFLFdBQVcsTUFBTSxHQUFHO0FBQ2xGOzs7QUQxRE8sU0FBUyxVQUFVLEVBQUUsUUFBUSxNQUFNLE9BQU8sVUFBQUcsV0FBVSxPQUFBQyxRQUFPLFFBQVEsR0FBRztBQUMzRSxRQUFNLFFBQVEsSUFBSSxJQUFJLE1BQU0sSUFBSSxDQUFDLFNBQVMsQ0FBQyxJQUFJLFVBQVUsSUFBSSxDQUFDLElBQUksV0FBVyxNQUFNLElBQUksQ0FBQyxDQUFDLENBQUM7QUFDMUYsYUFBVyxDQUFDLFNBQVMsSUFBSSxLQUFLLE1BQU8sT0FBTUMsTUFBSyxRQUFRLE9BQU8sR0FBRyxJQUFJO0FBRXRFLFFBQU0sUUFBUSxDQUFDLEtBQUtELE1BQUssSUFBSSxJQUFJLEtBQUssT0FBTyxFQUFFO0FBQy9DLGFBQVcsRUFBRSxNQUFNLE1BQU0sS0FBS0QsV0FBVTtBQUN0QyxVQUFNLEtBQUssSUFBSSxNQUFNLElBQUksSUFBSSxFQUFFO0FBQy9CLGVBQVcsUUFBUSxPQUFPO0FBQ3hCLFlBQU1HLFdBQVUsVUFBVSxNQUFNLElBQUksS0FBSyxJQUFJLEtBQUssRUFBRTtBQUNwRCxZQUFNLEtBQUssTUFBTSxLQUFLLElBQUksS0FBSyxJQUFJLEdBQUcsS0FBSyxLQUFLLE1BQU0sQ0FBQyxDQUFDLElBQUlBLFlBQVcsS0FBS0EsUUFBTyxFQUFFLEVBQUU7QUFBQSxJQUN6RjtBQUFBLEVBQ0Y7QUFDQSxRQUFNRCxNQUFLLFFBQVEsVUFBVSxHQUFHLEdBQUcsTUFBTSxLQUFLLElBQUksQ0FBQztBQUFBLENBQUk7QUFFdkQsUUFBTUUsU0FBUUosVUFBUyxRQUFRLENBQUMsRUFBRSxNQUFNLE1BQU0sTUFBTSxJQUFJLENBQUMsRUFBRSxLQUFLLE1BQU0sTUFBTSxJQUFJLElBQUksS0FBSyxFQUFFLENBQUM7QUFDNUYsUUFBTUUsTUFBSyxRQUFRLGVBQWUsR0FBR0UsT0FBTSxLQUFLLGFBQWEsQ0FBQztBQUNoRTtBQUdBLElBQU0sUUFBUTtBQU1QLFNBQVMsVUFBVSxNQUFNO0FBQzlCLFFBQU0sT0FBTyxLQUFLLFFBQVEseUJBQXlCLEVBQUUsRUFBRSxRQUFRLHVCQUF1QixFQUFFO0FBQ3hGLFFBQU0sQ0FBQyxFQUFFLEtBQUssSUFBSSxxQkFBcUIsS0FBSyxJQUFJLEtBQUssQ0FBQztBQUN0RCxRQUFNLENBQUMsT0FBTyxFQUFFLElBQUksS0FBSyxNQUFNLE9BQU87QUFDdEMsUUFBTSxZQUNKLFFBQVEsSUFBSSxNQUFNLFNBQVMsR0FBRyxNQUFNLE9BQU8sQ0FBQyxFQUFFLFlBQVksQ0FBQyxHQUFHLE1BQU0sTUFBTSxDQUFDLENBQUMsUUFBUSxRQUFRLElBQUk7QUFDbEcsU0FBTyxjQUFjLGFBQWEsRUFBRTtBQUN0QztBQUdBLFNBQVMsUUFBUSxNQUFNO0FBQ3JCLFFBQU0sYUFBYSxLQUFLLE1BQU0sU0FBUyxFQUFFLElBQUksQ0FBQyxTQUFTLEtBQUssUUFBUSxVQUFVLEVBQUUsQ0FBQztBQUNqRixTQUFPLFdBQVcsSUFBSSxDQUFDLFNBQVMsS0FBSyxRQUFRLFdBQVcsRUFBRSxDQUFDLEVBQUUsS0FBSyxDQUFDLFNBQVMsbUJBQW1CLEtBQUssSUFBSSxDQUFDO0FBQzNHO0FBR0EsU0FBUyxjQUFjLFVBQVU7QUFFL0IsUUFBTSxRQUFRLENBQUM7QUFDZixRQUFNQyxTQUFRLFNBQ1gsV0FBVyxjQUFjLENBQUMsR0FBRyxTQUFTLEtBQUssTUFBTSxLQUFLLElBQUksSUFBSSxDQUFDLElBQUksRUFDbkUsV0FBVyw0QkFBNEIsSUFBSSxFQUMzQyxXQUFXLEtBQUssRUFBRSxFQUNsQixXQUFXLFFBQVEsR0FBRyxFQUN0QixLQUFLLEVBRUwsUUFBUSxNQUFNLEdBQUc7QUFDcEIsUUFBTSxZQUFZQSxPQUFNLE1BQU0sa0JBQWtCLEtBQUssQ0FBQ0EsTUFBSztBQUMzRCxRQUFNLENBQUMsUUFBUSxJQUFJLFNBQVMsRUFBRSxJQUFJO0FBQ2xDLFFBQU0sVUFBVSxNQUFNLFNBQVMsUUFBUSxRQUFRLFNBQVM7QUFDeEQsU0FBTyxRQUFRLFdBQVcsY0FBYyxDQUFDLEdBQUcsTUFBTSxNQUFNLENBQUMsS0FBSyxFQUFFO0FBQ2xFO0FBR0EsU0FBUyxXQUFXLE1BQU0sTUFBTTtBQUU5QixTQUFPLE9BQU8sSUFBSSxFQUFFLFdBQVcsa0NBQWtDLENBQUMsS0FBSyxTQUFTO0FBQzlFLFVBQU0sU0FBUyxTQUFTLE1BQU0sSUFBSTtBQUNsQyxXQUFPLFdBQVcsU0FBWSxNQUFNLEtBQUssSUFBSSxHQUFHLE9BQU8sS0FBSyxNQUFNLENBQUMsQ0FBQztBQUFBLEVBQ3RFLENBQUM7QUFDSDtBQUdBLFNBQVMsTUFBTSxNQUFNLE1BQU07QUFDekIsRUFBQUMsV0FBVUMsU0FBUSxJQUFJLEdBQUcsRUFBRSxXQUFXLEtBQUssQ0FBQztBQUM1QyxFQUFBQyxlQUFjLE1BQU0sSUFBSTtBQUMxQjs7O0FJL0VBLFNBQVMsY0FBQUMsYUFBWSxlQUFBQyxjQUFhLGdCQUFBQyxlQUFjLFFBQVEsWUFBQUMsV0FBVSxpQkFBQUMsc0JBQXFCO0FBQ3ZGLFNBQVMsUUFBQUMsYUFBWTtBQUNyQixTQUFTLG1CQUFtQjs7O0FDRDVCLElBQU0sVUFBVSxJQUFJO0FBQUEsRUFDbEI7QUFBQTtBQUFBO0FBQUE7QUFBQSxnR0FJOEYsTUFBTSxLQUFLO0FBQzNHO0FBTU8sU0FBUyxTQUFTLE9BQU8sVUFBVTtBQUN4QyxRQUFNLFFBQVEsSUFBSSxJQUFJLENBQUMsR0FBRyxNQUFNLE9BQU8sQ0FBQyxFQUFFLFFBQVEsU0FBUyxDQUFDO0FBQzVELFNBQU8sQ0FBQyxHQUFHLFFBQVEsRUFBRSxRQUFRLENBQUMsQ0FBQ0MsUUFBTyxLQUFLLE1BQU07QUFDL0MsVUFBTSxPQUFPLE1BQU0sSUFBSUEsTUFBSztBQUM1QixRQUFJLFNBQVMsT0FBVyxRQUFPLENBQUMsR0FBR0EsTUFBSyxjQUFjO0FBQ3RELFVBQU0sU0FBUyxvQkFBSSxJQUFJLENBQUMsR0FBRyxVQUFVLElBQUksR0FBRyxHQUFHLFNBQVMsSUFBSSxDQUFDLENBQUM7QUFDOUQsV0FBTztBQUFBLE1BQ0wsR0FBRyxNQUFNLE9BQU8sQ0FBQyxTQUFTLENBQUMsT0FBTyxJQUFJLElBQUksQ0FBQyxFQUFFLElBQUksQ0FBQyxTQUFTLEdBQUdBLE1BQUssc0JBQXNCLElBQUksRUFBRTtBQUFBLE1BQy9GLEdBQUcsWUFBWSxNQUFNLEtBQUssRUFBRSxJQUFJLENBQUMsU0FBUyxHQUFHQSxNQUFLLGFBQWEsSUFBSSxzQkFBc0I7QUFBQSxNQUN6RixHQUFHLE9BQU8sSUFBSSxFQUFFLElBQUksQ0FBQyxTQUFTLEdBQUdBLE1BQUssd0JBQXdCLElBQUksRUFBRTtBQUFBLE1BQ3BFLEdBQUcsU0FBUyxJQUFJLEVBQUUsSUFBSSxDQUFDLFNBQVMsR0FBR0EsTUFBSyx1QkFBdUIsSUFBSSxFQUFFO0FBQUEsSUFDdkU7QUFBQSxFQUNGLENBQUM7QUFDSDtBQUdBLElBQU0sWUFBWSxDQUFDLFNBQVMsUUFBUSxLQUFLLFdBQVcsT0FBTyxHQUFHLEdBQUcsMEJBQTBCO0FBRzNGLElBQU0sV0FBVyxDQUFDLFNBQVMsUUFBUSxNQUFNLGtCQUFrQjtBQUczRCxTQUFTLFlBQVksTUFBTSxPQUFPO0FBQ2hDLFFBQU0sUUFBUSxRQUFRLE1BQU0sMkJBQTJCLEVBQUU7QUFBQSxJQUFJLENBQUMsU0FDNUQsS0FBSyxXQUFXLGdEQUFnRCxFQUFFO0FBQUEsRUFDcEU7QUFDQSxRQUFNLGFBQWEsb0JBQUksSUFBSTtBQUFBLElBQ3pCLEdBQUcsUUFBUSxNQUFNLDZDQUE2QztBQUFBLElBQzlELEdBQUcsTUFBTSxRQUFRLENBQUMsU0FBUyxRQUFRLE1BQU0sMEJBQTBCLENBQUM7QUFBQSxFQUN0RSxDQUFDO0FBQ0QsUUFBTUMsYUFBWSxDQUF1QixTQUFTLFFBQVEsSUFBSSxJQUFJLEtBQUssV0FBVyxJQUFJLElBQUk7QUFDMUYsUUFBTSxTQUFTLE1BQ1osUUFBUSxDQUFDLFNBQVMsUUFBUSxNQUFNLGtDQUFrQyxDQUFDLEVBQ25FLE9BQU8sQ0FBQyxTQUFTLENBQUMsTUFBTSxJQUFJLElBQUksQ0FBQztBQUNwQyxRQUFNLFVBQVUsUUFBUSxJQUFJLEVBQUUsUUFBUSxDQUFDLFNBQVMsUUFBUSxNQUFNLDhCQUE4QixDQUFDO0FBQzdGLFNBQU8sQ0FBQyxHQUFHLElBQUksSUFBSSxDQUFDLEdBQUcsUUFBUSxHQUFHLE9BQU8sRUFBRSxPQUFPLENBQUMsU0FBUyxDQUFDQSxXQUFVLElBQUksQ0FBQyxDQUFDLENBQUM7QUFDaEY7QUFHQSxTQUFTLFFBQVEsTUFBTTtBQUNyQixRQUFNLFFBQVEsS0FBSyxXQUFXLHVCQUF1QixFQUFFLEVBQUUsTUFBTSxJQUFJO0FBQ25FLFNBQU8sTUFBTSxRQUFRLENBQUMsTUFBTSxNQUFNO0FBQ2hDLFFBQUksS0FBSyxXQUFXLEdBQUcsRUFBRyxRQUFPLENBQUNDLFNBQVEsSUFBSSxFQUFFLENBQUMsS0FBSyxFQUFFO0FBQ3hELFdBQU8seUJBQXlCLEtBQUssTUFBTSxJQUFJLENBQUMsS0FBSyxFQUFFLElBQUksQ0FBQyxJQUFJLElBQUksQ0FBQztBQUFBLEVBQ3ZFLENBQUM7QUFDSDtBQUdBLElBQU0sU0FBUyxDQUFDLFNBQVMsS0FBSyxNQUFNLElBQUksRUFBRSxPQUFPLENBQUMsU0FBUywwQkFBMEIsS0FBSyxJQUFJLENBQUM7QUFHL0YsU0FBUyxTQUFTLE1BQU07QUFDdEIsU0FBTyxRQUFRLE1BQU0sbUJBQW1CLEVBQ3JDLE9BQU8sQ0FBQyxVQUFVLE1BQU0sV0FBVyxhQUFhLENBQUMsRUFDakQsUUFBUSxDQUFDLFVBQVU7QUFDbEIsVUFBTSxDQUFDLE9BQU8sSUFBSSxFQUFFLEdBQUcsSUFBSSxJQUFJLE1BQU0sUUFBUSxFQUFFLE1BQU0sSUFBSTtBQUN6RCxVQUFNLFFBQVFBLFNBQVEsSUFBSSxFQUFFLFFBQVEsZUFBZTtBQUNuRCxXQUFPLEtBQ0osSUFBSUEsUUFBTyxFQUNYLE9BQU8sQ0FBQyxVQUFVLFlBQVksS0FBSyxNQUFNLEtBQUssS0FBSyxFQUFFLENBQUMsRUFDdEQsSUFBSSxDQUFDLFVBQVUsWUFBWSxLQUFLLE1BQU0sQ0FBQyxLQUFLLEVBQUUsSUFBSSxDQUFDLEtBQUssRUFBRTtBQUFBLEVBQy9ELENBQUM7QUFDTDtBQUdPLElBQU1BLFdBQVUsQ0FBQyxRQUFRLElBQUksTUFBTSxXQUFXO0FBR3JELElBQU0sVUFBVSxDQUFDLE1BQU0sWUFBWSxDQUFDLEdBQUcsS0FBSyxTQUFTLE9BQU8sQ0FBQyxFQUFFLElBQUksQ0FBQyxVQUFVLE1BQU0sQ0FBQyxLQUFLLEVBQUU7OztBQzlFckYsSUFBTSxVQUFVO0FBQUEsRUFDckIsUUFBUSxDQUFDLHlCQUF5QjtBQUFBLEVBQ2xDLFFBQVE7QUFBQSxFQUNSLFFBQVE7QUFBQSxFQUNSLE1BQU07QUFBQSxFQUNOLGVBQWU7QUFBQSxFQUNmLGlCQUFpQjtBQUFBLEVBQ2pCLGdCQUFnQjtBQUFBLEVBQ2hCLGtCQUFrQjtBQUFBLEVBQ2xCLGdCQUFnQjtBQUFBLEVBQ2hCLFlBQVk7QUFBQSxFQUNaLG1CQUFtQjtBQUFBLEVBQ25CLFVBQVU7QUFBQSxFQUNWLFlBQVksRUFBRSxhQUFhLE1BQU0sYUFBYSxNQUFNLGVBQWUsTUFBTTtBQUFBLEVBQ3pFLGlCQUFpQjtBQUFBLEVBQ2pCLGdCQUFnQjtBQUFBLEVBQ2hCLG1CQUFtQjtBQUFBLEVBQ25CLGVBQWU7QUFBQSxFQUNmLGtCQUFrQjtBQUFBLEVBQ2xCLGVBQWU7QUFBQSxFQUNmLGtCQUFrQjtBQUFBLEVBQ2xCLGtCQUFrQjtBQUFBLEVBQ2xCLDJCQUEyQjtBQUFBLEVBQzNCLHVCQUF1QjtBQUFBLEVBQ3ZCLHVCQUF1QjtBQUFBLEVBQ3ZCLHVCQUF1QjtBQUFBLEVBQ3ZCLDJCQUEyQjtBQUFBLEVBQzNCLHFCQUFxQixFQUFFLGVBQWUsTUFBTSxlQUFlLEtBQUs7QUFBQSxFQUNoRSwyQkFBMkI7QUFBQSxFQUMzQixNQUFNLENBQUMsY0FBYztBQUFBLEVBQ3JCLFlBQVksQ0FBQyxhQUFhLFdBQVcsY0FBYyxnQkFBZ0IsV0FBVztBQUNoRjtBQUdPLFNBQVMsT0FBTyxNQUFNLFNBQVM7QUFDcEMsUUFBTSxPQUFPLEtBQUssV0FBVyw4QkFBOEIsQ0FBQyxHQUFHLFVBQVU7QUFDdkUsVUFBTSxDQUFDLEVBQUUsUUFBUSxFQUFFLElBQUksY0FBYyxLQUFLLEtBQUssS0FBSyxDQUFDO0FBQ3JELFVBQU0sUUFBUSxRQUFRLElBQUksS0FBSyxNQUFNLEtBQUssS0FBSyxLQUFLLElBQUksUUFBUSxLQUFLLElBQUk7QUFDekUsV0FBTztBQUFBLEVBQWEsS0FBSztBQUFBO0FBQUEsRUFDM0IsQ0FBQztBQUNELFNBQU8saUJBQWlCLGtCQUFrQixlQUFlLElBQUksQ0FBQyxDQUFDO0FBQ2pFO0FBR0EsSUFBTSxPQUFPO0FBQ2IsSUFBTSxVQUFVO0FBR2hCLFNBQVMsUUFBUSxPQUFPO0FBQ3RCLFFBQU0sT0FBTyxNQUNWLFdBQVcsUUFBUSxHQUFHLEVBQ3RCLFdBQVcsWUFBWSxJQUFJLEVBQzNCLFdBQVcsYUFBYSxJQUFJLEVBQzVCLFdBQVcscUJBQXFCLENBQUMsR0FBRyxXQUFZLE9BQU8sS0FBSyxNQUFNLElBQUksU0FBUyxHQUFHLE1BQU0sR0FBSTtBQUMvRixRQUFNLFFBQVEsS0FBSyxRQUFRLEdBQUcsSUFBSTtBQUNsQyxNQUFJLEtBQUssVUFBVSxXQUFXLEtBQUssS0FBSyxNQUFNLElBQUssUUFBTztBQUMxRCxRQUFNLGFBQWEsQ0FBQyxFQUFFO0FBQ3RCLE1BQUksUUFBUTtBQUNaLE1BQUksSUFBSTtBQUNSLFNBQU8sSUFBSSxLQUFLLFFBQVEsS0FBSztBQUMzQixVQUFNLFlBQVksS0FBSyxDQUFDLEtBQUs7QUFDN0IsUUFBSSxjQUFjLE9BQU8sVUFBVSxFQUFHO0FBQ3RDLFFBQUksU0FBUyxLQUFLLFNBQVMsRUFBRztBQUM5QixRQUFJLFNBQVMsS0FBSyxTQUFTLEtBQU0sY0FBYyxPQUFPLEtBQUssSUFBSSxDQUFDLE1BQU0sSUFBTTtBQUM1RSxRQUFJLGNBQWMsT0FBTyxVQUFVLEVBQUcsWUFBVyxLQUFLLEVBQUU7QUFBQSxRQUNuRCxZQUFXLFdBQVcsU0FBUyxDQUFDLEtBQUs7QUFBQSxFQUM1QztBQUNBLFNBQU8sR0FBRyxLQUFLLE1BQU0sR0FBRyxLQUFLLENBQUM7QUFBQSxFQUFLLFdBQVcsSUFBSSxDQUFDLFFBQVEsS0FBSyxJQUFJLEtBQUssQ0FBQztBQUFBLENBQUssRUFBRSxLQUFLLEVBQUUsQ0FBQyxHQUFHLEtBQUssTUFBTSxDQUFDLENBQUM7QUFDM0c7QUFHQSxTQUFTLGVBQWUsTUFBTTtBQUM1QixTQUFPLEtBQUssV0FBVyw2REFBNkQsRUFBRTtBQUN4RjtBQUdBLFNBQVMsa0JBQWtCLE1BQU07QUFDL0IsU0FBTyxLQUFLLFdBQVcscURBQXFELENBQUMsVUFBVTtBQUNyRixVQUFNLFFBQVFDLFNBQVEsTUFBTSxNQUFNLElBQUksRUFBRSxDQUFDLEtBQUssRUFBRSxFQUFFLFFBQVEsaUJBQWlCO0FBQzNFLFdBQU8sTUFBTSxXQUFXLFlBQVksQ0FBQyxRQUFRO0FBQzNDLFlBQU0sUUFBUUEsU0FBUSxHQUFHO0FBQ3pCLFVBQUksTUFBTSxLQUFLLE1BQU0sZ0JBQWlCLE9BQU0sS0FBSyxJQUFJO0FBQ3JELGFBQU8sTUFBTSxLQUFLLEdBQUc7QUFBQSxJQUN2QixDQUFDO0FBQUEsRUFDSCxDQUFDO0FBQ0g7QUFHQSxTQUFTLGlCQUFpQixNQUFNO0FBQzlCLFFBQU0sVUFBVTtBQUNoQixRQUFNLFFBQVEsQ0FBQyxHQUFHLEtBQUssU0FBUyxPQUFPLENBQUMsRUFBRSxJQUFJLENBQUMsQ0FBQyxFQUFFLElBQUksTUFBTSxLQUFLLElBQUksRUFBRTtBQUN2RSxNQUFJLE1BQU0sV0FBVyxFQUFHLFFBQU87QUFDL0IsUUFBTSxPQUFPLEtBQUssV0FBVyxTQUFTLEVBQUUsRUFBRSxRQUFRO0FBQ2xELFNBQU8sR0FBRyxLQUFLLFFBQVEsYUFBYSxFQUFFLEVBQUUsUUFBUSxDQUFDO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBQTZELE1BQU0sS0FBSyxJQUFJLENBQUM7QUFBQTtBQUNoSTs7O0FDakdBO0FBQUEsRUFDRTtBQUFBLEVBQ0E7QUFBQSxFQUNBO0FBQUEsRUFDQTtBQUFBLEVBQ0E7QUFBQSxFQUNBO0FBQUEsRUFDQTtBQUFBLEVBQ0E7QUFBQSxFQUNBO0FBQUEsT0FDSztBQUNQLE9BQU8sUUFBUTtBQVNSLFNBQVMsVUFBVSxXQUFXO0FBQ25DLFFBQU0sY0FBYyxVQUFVLFlBQVksS0FBSyxTQUFTO0FBRXhELFFBQU0sWUFBWSxDQUFDLFNBQVMsTUFBTSxTQUNoQyxTQUFTLFVBQWEsUUFBUSxRQUFRLFNBQVMsTUFBTSxJQUFJLElBQ3JELFlBQVksU0FBUyxJQUFJLElBQ3pCLFlBQVksU0FBUyxNQUFNLElBQUk7QUFDckMsWUFBVTtBQUFBLEVBQWlEO0FBQzdEO0FBTU8sU0FBUyxXQUFXLFdBQVc7QUFFcEMsUUFBTSxRQUFRLG9CQUFJLElBQUk7QUFDdEIsWUFBVSxHQUFHLFVBQVUsMEJBQTBCLENBQUMsU0FBUyxRQUFRO0FBQ2pFLFVBQU0sT0FBTyxRQUFRLHdCQUF3QixHQUFHLEdBQUcsY0FBYyxLQUFLLEdBQUcsc0JBQXNCO0FBQy9GLFFBQUksU0FBUyxVQUFhLENBQUMsSUFBSSxPQUFPLGVBQWUsU0FBUyxFQUFHO0FBQ2pFLFVBQU0sU0FBUyxJQUFJLFFBQVEsUUFBUTtBQUNuQyxVQUFNLE9BQU8sS0FBSyxRQUFRLEVBQUUsUUFBUSxZQUFZLEVBQUU7QUFDbEQsVUFBTSxJQUFJLFNBQVMsTUFBTSxJQUFJLE1BQU0sS0FBSyxvQkFBSSxJQUFJLEdBQUcsSUFBSSxJQUFJLE1BQU0sSUFBSSxDQUFDO0FBQUEsRUFDeEUsQ0FBQztBQUNELFNBQU87QUFDVDtBQU1BLFNBQVMsUUFBUSxTQUFTLE1BQU0sTUFBTTtBQUNwQyxRQUFNLFNBQVM7QUFBQSxJQUNiO0FBQUEsSUFDQSxDQUFDLFNBQ0MsR0FBRyxlQUFlLElBQUksS0FDdEIsR0FBRyxvQkFBb0IsSUFBSTtBQUFBLElBRTNCLEdBQUcsZ0JBQWdCLElBQUksS0FDdEIsR0FBRyxvQkFBb0IsSUFBSSxPQUN4QixRQUFRLG9CQUFvQixLQUFLLFFBQVEsR0FBRyxTQUFTLEtBQUssR0FBRyxZQUFZLG1CQUFtQjtBQUFBLEVBQ3BHO0FBQ0EsU0FBTyxDQUFDLFVBQVUsUUFBUSxtQkFBbUIsUUFBUSxvQkFBb0IsSUFBSSxHQUFHLElBQUk7QUFDdEY7QUFHQSxJQUFNLFdBQVcsQ0FBQyxNQUFNLE9BQU8sR0FBRyxJQUFJLEtBQUssR0FBRyxhQUFhLE1BQU0sQ0FBQyxTQUFTLFNBQVMsTUFBTSxFQUFFLENBQUMsTUFBTTtBQU01RixTQUFTLFNBQVMsU0FBUyxPQUFPO0FBQ3ZDLFFBQU0sUUFBUSxJQUFJLElBQUksTUFBTSxPQUFPLENBQUM7QUFDcEMsYUFBVyxPQUFPLE9BQU8sT0FBTyxRQUFRLFdBQVc7QUFDakQsUUFBSSxJQUFJLFlBQVksVUFBYSxNQUFNLElBQUksUUFBUSxvQkFBb0IsSUFBSSxRQUFRLE9BQU8sQ0FBQztBQUN6RixhQUFPLElBQUk7QUFDZixhQUFXLFVBQVUsUUFBUSxZQUFZLENBQUM7QUFDeEMsV0FBTyxVQUFVLElBQUksUUFBUSxDQUFDLEVBQUUsTUFBTSxRQUFRLE1BQU0sTUFBTSxJQUFJLE9BQU8sSUFBSSxLQUFLLEdBQUcsQ0FBQyxDQUFDO0FBRXJGLFFBQU0sU0FBUyxTQUFTLE9BQU87QUFDL0IsYUFBVyxPQUFPLFFBQVEscUJBQXFCLGVBQWUsU0FBUyxHQUFHO0FBQ3hFLFVBQU0sWUFBWSxPQUFPLElBQUksR0FBRztBQUNoQyxRQUFJLElBQUksWUFBWSxVQUFhLEVBQUUsZUFBZSx1QkFBd0I7QUFDMUUsVUFBTSxDQUFDLElBQUksSUFBSSxJQUFJLGlCQUFpQixDQUFDO0FBQ3JDLFFBQUksZ0JBQWdCLGlCQUFpQixLQUFLLFlBQVksUUFBUyxLQUFJLFVBQVUsS0FBSyxXQUFXO0FBQzdGLFFBQUksY0FBYyxPQUFXO0FBRTdCLFVBQU0sUUFBUSxDQUFDLEdBQUcsU0FBUyxFQUFFLFFBQVEsQ0FBQyxRQUFRLE1BQU07QUFBQSxNQUNsRCxFQUFFLE1BQU0sUUFBUSxNQUFNLE1BQU0sSUFBSSxnQkFBZ0IsS0FBSztBQUFBLE1BQ3JELEVBQUUsTUFBTSxjQUFjLEtBQUssYUFBYSxNQUFNLE9BQU8sTUFBTSxPQUFPO0FBQUEsSUFDcEUsQ0FBQztBQUNELFFBQUksVUFBVSxJQUFJLFFBQVEsQ0FBQyxHQUFHLE9BQU8sRUFBRSxNQUFNLFFBQVEsTUFBTSxJQUFJLENBQUMsQ0FBQztBQUFBLEVBQ25FO0FBQ0Y7QUFFQSxJQUFNLE9BQ0osZUFBZSxXQUNmLGVBQWUsUUFDZixlQUFlLFlBQ2YsZUFBZSxZQUNmLGVBQWUsV0FDZixlQUFlLFdBQ2YsZUFBZSxTQUNmLGVBQWU7QUFHVixTQUFTLE9BQU8sU0FBUztBQUM5QixTQUFPLFFBQ0oscUJBQXFCLElBQUksRUFDekIsT0FBTyxDQUFDLFFBQVEsQ0FBQyxhQUFhLEdBQUcsS0FBSyxDQUFDLE9BQU8sR0FBRyxDQUFDLEVBQ2xELElBQUksQ0FBQyxRQUFRLElBQUksb0JBQW9CLENBQUM7QUFDM0M7QUFHQSxJQUFNLGVBQWUsQ0FBQyxFQUFFLE9BQU8sTUFDN0IsV0FBVyxXQUNWLE9BQU8sT0FBTyxlQUFlLGNBQWMsZUFBZSxTQUFTLEtBQUssYUFBYSxNQUFNO0FBRzlGLFNBQVMsT0FBTyxLQUFLO0FBQ25CLE1BQUksSUFBSSxXQUFXLEtBQUssRUFBRSxlQUFlLHVCQUF3QixRQUFPLElBQUksV0FBVztBQUN2RixRQUFNLEVBQUUsYUFBYSxDQUFDLEdBQUcsY0FBYyxLQUFLLElBQUk7QUFDaEQsUUFBTSxTQUFTLGdCQUFnQixpQkFBa0IsS0FBSyxZQUFZLGNBQWMsQ0FBQyxJQUFLLENBQUM7QUFDdkYsU0FBTyxDQUFDLEdBQUcsWUFBWSxHQUFHLFFBQVEsR0FBSSxlQUFlLENBQUMsWUFBWSxJQUFJLENBQUMsQ0FBRSxFQUFFLEtBQUssQ0FBQyxRQUFRLElBQUksV0FBVyxDQUFDO0FBQzNHO0FBR0EsU0FBUyxTQUFTLFNBQVM7QUFFekIsUUFBTSxTQUFTLG9CQUFJLElBQUk7QUFDdkIsYUFBVyxPQUFPLE9BQU8sT0FBTyxRQUFRLFdBQVcsR0FBRztBQUNwRCxVQUFNLFFBQVEsSUFBSSxRQUFRO0FBQzFCLFFBQUksRUFBRSxlQUFlLHdCQUF3QixVQUFVLE9BQVc7QUFDbEUsVUFBTSxRQUFRLE1BQU0sT0FBTyxlQUFlLFdBQVcsSUFBSSxNQUFNLFNBQVM7QUFDeEUsUUFBSSxDQUFDLE9BQU8sT0FBTyxlQUFlLFdBQVcsZUFBZSxTQUFTLGVBQWUsS0FBSyxFQUFHO0FBQzVGLFFBQUksTUFBTTtBQUFBLE1BQ1IscUJBQXFCO0FBQUEsUUFDbkIsVUFBVSxFQUFFLFdBQVcsR0FBRztBQUN4QixjQUFJLENBQUMsWUFBWSxLQUFLLFNBQVMsU0FBUyxFQUFHO0FBQzNDLGlCQUFPLElBQUksYUFBYSxPQUFPLElBQUksVUFBVSxLQUFLLG9CQUFJLElBQUksR0FBRyxJQUFJLEtBQUssQ0FBQztBQUFBLFFBQ3pFO0FBQUEsTUFDRixDQUFDO0FBQUEsSUFDSDtBQUFBLEVBQ0Y7QUFDQSxTQUFPO0FBQ1Q7QUFPTyxTQUFTLE1BQU0sU0FBUztBQUM3QixRQUFNLFVBQVUscUJBQXFCO0FBQUEsSUFDbkMsVUFBVSxNQUFNO0FBQ2QsVUFBSSxLQUFLLGVBQWUsV0FBYyxLQUFLLGVBQWUsVUFBVSxLQUFLLEVBQUcsUUFBTyxLQUFLO0FBQUEsSUFDMUY7QUFBQSxFQUNGLENBQUM7QUFDRCxhQUFXLE9BQU8sT0FBTyxPQUFPLFFBQVEsV0FBVyxHQUFHO0FBQ3BELFFBQUksZUFBZSxvQkFBcUIsS0FBSSxNQUFNLE1BQU0sT0FBTztBQUMvRCxRQUFJLEVBQUUsZUFBZSx5QkFBeUIsZUFBZSxxQkFBc0I7QUFDbkYsUUFBSSxNQUFNLE1BQU0sT0FBTztBQUN2QixXQUFPLElBQUk7QUFDWCxXQUFPLElBQUk7QUFDWCxXQUFPLElBQUk7QUFDWCxRQUFJLGVBQWUsdUJBQXVCLElBQUksa0JBQWtCLE9BQVc7QUFDM0UsVUFBTSxFQUFFLE9BQU8sTUFBTSxTQUFTLElBQUksSUFBSTtBQUN0QyxVQUFNLFFBQVEsV0FBVyxDQUFDLElBQUksTUFBTSxPQUFPLENBQUMsU0FBUyxTQUFTLElBQUksS0FBSyxVQUFVLElBQUksQ0FBQztBQUN0RixRQUFJLE1BQU0sV0FBVyxFQUFHLFFBQU8sSUFBSTtBQUFBLFFBQzlCLEtBQUksZ0JBQWdCLEVBQUUsT0FBTyxPQUFPLE1BQU0sRUFBRSxPQUFPLE1BQU0sU0FBUyxDQUFDLEdBQUcsVUFBVSxLQUFLLEVBQUU7QUFBQSxFQUM5RjtBQUNGO0FBR0EsSUFBTSxXQUFXLENBQUMsU0FBUyxFQUFFLGdCQUFnQixrQkFBa0IsS0FBSyxlQUFlO0FBR25GLElBQU0sWUFBWSxDQUFDLFNBQVMsZ0JBQWdCLGlCQUFpQixDQUFDLGtCQUFrQixLQUFLLEtBQUssV0FBVyxFQUFFO0FBR2hHLFNBQVMsTUFBTSxTQUFTO0FBQzdCLGFBQVcsVUFBVSxRQUFRLFlBQVksQ0FBQztBQUN4QyxlQUFXLFNBQVMsT0FBTyxVQUFVLENBQUM7QUFDcEMsWUFBTSxTQUFTLEtBQUssQ0FBQyxHQUFHLE1BQU0sRUFBRSxLQUFLLGNBQWMsRUFBRSxNQUFNLElBQUksQ0FBQztBQUN0RTs7O0FIL0tBLElBQU0sU0FBUztBQUtmLGVBQXNCLGlCQUFpQjtBQUNyQyxRQUFNLFdBQVcsZUFBZTtBQUNoQyxRQUFNLFVBQVUsSUFBSSxJQUFJLFNBQVMsUUFBUSxXQUFXLENBQUM7QUFDckQsUUFBTSxVQUFVLENBQUMsWUFBWSxHQUFHLFNBQVMsSUFBSSxDQUFDLFNBQVMsWUFBWSxJQUFJLE1BQU0sQ0FBQztBQUM5RSxRQUFNLFFBQVEsR0FBRyxRQUFRLElBQUksQ0FBQ0MsWUFBVyxPQUFPQyxNQUFLLE1BQU1ELE9BQU0sQ0FBQyxDQUFDLEVBQUUsS0FBSyxHQUFHLENBQUMsSUFBSSxDQUFDLEdBQUcsUUFBUSxLQUFLLENBQUMsRUFBRSxLQUFLLENBQUM7QUFDNUcsUUFBTSxZQUFZQyxNQUFLLE1BQU0sUUFBUSxRQUFRO0FBQzdDLE1BQUksQ0FBQ0MsWUFBVyxTQUFTLEtBQUtDLGNBQWEsV0FBVyxNQUFNLE1BQU0sT0FBTztBQUN2RSxVQUFNLFNBQVMsVUFBVSxPQUFPO0FBQ2hDLElBQUFDLGVBQWMsV0FBVyxLQUFLO0FBQUEsRUFDaEM7QUFDQSxTQUFPLENBQUMsR0FBRyxNQUFNLGFBQWEsR0FBRyxDQUFDLEdBQUcsUUFBUSxLQUFLLENBQUMsRUFBRSxJQUFJQyxPQUFNLENBQUM7QUFDbEU7QUFHQSxJQUFNQSxVQUFTLENBQUNDLFdBQVUsR0FBRyxNQUFNLElBQUlBLE1BQUs7QUFHNUMsSUFBTSxhQUFhLENBQUNOLFlBQVcsS0FBSyxNQUFNLE9BQU8sWUFBWUEsT0FBTSxlQUFlLENBQUM7QUFHbkYsU0FBUyxpQkFBaUI7QUFDeEIsUUFBTSxVQUFVTyxhQUFZTixNQUFLLE1BQU0sVUFBVSxDQUFDLEVBQUUsT0FBTyxDQUFDRCxZQUFXLENBQUMsV0FBV0EsT0FBTSxFQUFFLE9BQU87QUFDbEcsU0FBTyxDQUFDLFVBQVUsR0FBRyxRQUFRLE9BQU8sQ0FBQ0EsWUFBV0EsWUFBVyxRQUFRLENBQUM7QUFDdEU7QUFHQSxTQUFTLFlBQVlBLFNBQVE7QUFDM0IsUUFBTSxFQUFFLE1BQU0sUUFBUSxJQUFJLFdBQVdBLE9BQU07QUFDM0MsU0FBTyxPQUFPLFFBQVEsT0FBTyxFQUFFLFFBQVEsQ0FBQyxDQUFDLE1BQU0sTUFBTSxNQUFNO0FBQ3pELFFBQUksT0FBTyxXQUFXLFNBQVUsUUFBTyxDQUFDO0FBQ3hDLFVBQU0sU0FBUyxPQUFPLFFBQVEsUUFBUSxXQUFXLFlBQVlBLE9BQU0sT0FBTyxFQUFFLFFBQVEsU0FBUyxLQUFLO0FBQ2xHLFdBQU8sQ0FBQyxDQUFDLEtBQUssUUFBUSxLQUFLLElBQUksR0FBR0MsTUFBSyxNQUFNLE1BQU0sQ0FBQyxDQUFDO0FBQUEsRUFDdkQsQ0FBQztBQUNIO0FBR0EsU0FBUyxjQUFjRCxTQUFRO0FBQzdCLFFBQU0sRUFBRSxLQUFLLElBQUksV0FBV0EsT0FBTTtBQUVsQyxRQUFNLFVBQVUsS0FBSyxNQUFNLE9BQU8sWUFBWUEsT0FBTSxlQUFlLENBQUM7QUFDcEUsU0FBTyxPQUFPLFFBQVEsT0FBTyxFQUFFLElBQUksQ0FBQyxDQUFDLE1BQU0sRUFBRSxRQUFRLE1BQU0sQ0FBQyxNQUFNO0FBQUEsSUFDaEUsS0FBSyxRQUFRLEtBQUssSUFBSTtBQUFBLElBQ3RCLENBQUMsR0FBRyxRQUFRLEdBQUcsS0FBSztBQUFBLEVBQ3RCLENBQUM7QUFDSDtBQU1BLGVBQWUsU0FBUyxVQUFVLFNBQVM7QUFDekMsUUFBTSxNQUFNQyxNQUFLLE1BQU0sTUFBTTtBQUM3QixTQUFPLEtBQUssRUFBRSxXQUFXLE1BQU0sT0FBTyxLQUFLLENBQUM7QUFDNUMsUUFBTSxNQUFNLE1BQU0sWUFBWTtBQUFBO0FBQUEsSUFDOEI7QUFBQSxNQUN4RCxHQUFHO0FBQUEsTUFDSCxhQUFhLENBQUMsR0FBRyxRQUFRLE9BQU8sQ0FBQztBQUFBLE1BQ2pDLFVBQVVBLE1BQUssTUFBTSw4QkFBOEI7QUFBQTtBQUFBLE1BRW5ELGlCQUFpQjtBQUFBLFFBQ2YsT0FBTyxPQUFPLFlBQVksQ0FBQyxHQUFHLE9BQU8sRUFBRSxJQUFJLENBQUMsQ0FBQyxNQUFNLElBQUksTUFBTSxDQUFDLE1BQU0sQ0FBQyxJQUFJLENBQUMsQ0FBQyxDQUFDO0FBQUEsTUFDOUU7QUFBQSxNQUNBLFNBQVMsQ0FBQyxFQUFFLE1BQU0sWUFBWSxNQUFNLElBQUksQ0FBQztBQUFBLElBQzNDO0FBQUEsRUFDRjtBQUNBLFlBQVUsSUFBSSxTQUFTO0FBQ3ZCLFFBQU0sVUFBVSxXQUFXLElBQUksU0FBUztBQUN4QyxRQUFNTyxTQUFRLElBQUksSUFBSSxDQUFDLEdBQUcsT0FBTyxFQUFFLElBQUksQ0FBQyxDQUFDLE1BQU0sSUFBSSxNQUFNLENBQUMsS0FBSyxXQUFXLE1BQU0sR0FBRyxHQUFHLElBQUksQ0FBQyxDQUFDO0FBQzVGLFFBQU0sUUFBUSxDQUFDLEdBQUcsUUFBUSxLQUFLLENBQUM7QUFDaEMsUUFBTSxVQUFVLElBQUksZUFBZSxLQUFLLENBQUMsR0FDdEMsSUFBSSxDQUFDLFdBQVcsRUFBRSxHQUFHLE9BQU8sYUFBYUEsT0FBTSxJQUFJLE1BQU0sV0FBVyxRQUFRLEtBQUssTUFBTSxZQUFZLEVBQUUsRUFFckcsS0FBSyxDQUFDLEdBQUcsTUFBTSxNQUFNLFFBQVEsRUFBRSxXQUFXLElBQUksTUFBTSxRQUFRLEVBQUUsV0FBVyxDQUFDO0FBQzdFLFFBQU0sVUFBVSxJQUFJLFVBQVUsUUFBUSxNQUFNO0FBQzVDLFdBQVMsU0FBUyxJQUFJLElBQUksQ0FBQyxHQUFHLE9BQU8sRUFBRSxJQUFJLENBQUMsQ0FBQyxNQUFNLElBQUksTUFBTSxDQUFDLE1BQU0sT0FBTyxJQUFJLENBQUMsQ0FBQyxDQUFDLENBQUM7QUFDbkYsYUFBV1IsV0FBVSxVQUFVO0FBQzdCLFlBQVEsY0FBYyxXQUFXQSxPQUFNLEVBQUU7QUFDekMsUUFBSSxTQUFTLE9BQU87QUFBQSxFQUN0QjtBQUNBLFFBQU0sU0FBUyxPQUFPLE9BQU87QUFDN0IsTUFBSSxPQUFPLFNBQVMsRUFBRyxLQUFJLE9BQU8sTUFBTSxlQUFlLE9BQU8sS0FBSyxJQUFJLENBQUMsRUFBRTtBQUMxRSxNQUFJLElBQUksT0FBTyxVQUFVLEtBQUssSUFBSSxPQUFPLFlBQVksRUFBRyxPQUFNLElBQUksTUFBTSw2QkFBNkI7QUFDckcsUUFBTSxPQUFPO0FBQ2IsUUFBTSxPQUFPO0FBQ2IsUUFBTSxJQUFJLGdCQUFnQixPQUFPO0FBRWpDLFFBQU0sUUFBUSxvQkFBSSxJQUFJO0FBQ3RCLGFBQVcsUUFBUSxPQUFPO0FBQ3hCLFVBQU0sT0FBTyxPQUFPLE9BQU9LLFFBQU8sSUFBSSxDQUFDLEdBQUcsUUFBUSxJQUFJLElBQUksS0FBSyxvQkFBSSxJQUFJLENBQUM7QUFDeEUsSUFBQUQsZUFBY0gsTUFBSyxNQUFNSSxRQUFPLElBQUksQ0FBQyxHQUFHLElBQUk7QUFDNUMsVUFBTSxJQUFJLE1BQU0sSUFBSTtBQUFBLEVBQ3RCO0FBQ0EsUUFBTSxTQUFTLFNBQVMsT0FBTyxJQUFJLElBQUksU0FBUyxRQUFRLGFBQWEsQ0FBQyxDQUFDO0FBQ3ZFLE1BQUksT0FBTyxTQUFTLEVBQUcsT0FBTSxJQUFJLE1BQU07QUFBQSxFQUFpQyxPQUFPLEtBQUssSUFBSSxDQUFDLEVBQUU7QUFDM0YsRUFBQUQsZUFBY0gsTUFBSyxLQUFLLFVBQVUsR0FBRyxRQUFRLEtBQUssQ0FBQztBQUNyRDtBQUdBLFNBQVMsUUFBUSxPQUFPO0FBQ3RCLFFBQU0sT0FBTyxNQUFNLElBQUksQ0FBQyxTQUFTLFFBQVEsSUFBSSxPQUFPLElBQUksVUFBVSxVQUFVLE9BQU9JLFFBQU8sSUFBSSxDQUFDLENBQUMsQ0FBQyxJQUFJO0FBQ3JHLFNBQU87QUFBQSxJQUNMO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBLEdBQUc7QUFBQSxJQUNIO0FBQUEsRUFDRixFQUFFLEtBQUssSUFBSTtBQUNiO0FBR0EsU0FBUyxPQUFPLE1BQU07QUFDcEIsUUFBTSxDQUFDLEVBQUUsVUFBVSxFQUFFLElBQUksd0JBQXdCLEtBQUtGLGNBQWEsTUFBTSxNQUFNLENBQUMsS0FBSyxDQUFDO0FBQ3RGLFNBQU8sUUFBUSxXQUFXLGFBQWEsRUFBRSxFQUFFLEtBQUs7QUFDbEQ7QUFHQSxTQUFTLE9BQU9ILFNBQVE7QUFDdEIsTUFBSSxTQUFTO0FBQ2IsYUFBV00sVUFBU0MsYUFBWVAsU0FBUSxFQUFFLFdBQVcsTUFBTSxlQUFlLEtBQUssQ0FBQztBQUM5RSxRQUFJTSxPQUFNLE9BQU8sRUFBRyxVQUFTLEtBQUssSUFBSSxRQUFRRyxVQUFTUixNQUFLSyxPQUFNLFlBQVlBLE9BQU0sSUFBSSxDQUFDLEVBQUUsT0FBTztBQUNwRyxTQUFPO0FBQ1Q7OztBTHJJQSxJQUFNLFFBQVE7QUFDZCxJQUFNLGNBQ0o7QUFDRixJQUFNLFdBQVcsUUFBUSxNQUFNLGVBQWUsQ0FBQztBQUUvQyxJQUFNLFFBQVEsb0JBQUksSUFBSTtBQUV0QixJQUFNLE9BQU87QUFFYixJQUFPLGlCQUFRLGFBQWE7QUFBQSxFQUMxQjtBQUFBLEVBQ0E7QUFBQSxFQUNBLE1BQU07QUFBQSxFQUNOLFFBQVE7QUFBQSxFQUNSLFFBQVE7QUFBQSxFQUNSLFVBQVU7QUFBQSxFQUNWLFlBQVk7QUFBQSxFQUNaLFVBQVU7QUFBQSxFQUNWLE1BQU0sQ0FBQyxDQUFDLFFBQVEsRUFBRSxLQUFLLFFBQVEsTUFBTSxzQkFBc0IsbUJBQW1CLElBQUksQ0FBQyxHQUFHLENBQUMsQ0FBQztBQUFBLEVBQ3hGLFVBQVU7QUFBQSxJQUNSLFFBQVEsRUFBRSxTQUFTLE9BQU87QUFBQSxJQUMxQixRQUFRLENBQUMsT0FBTyxtQkFBbUIsSUFBSSxLQUFLO0FBQUEsRUFDOUM7QUFBQSxFQUNBLE1BQU07QUFBQSxJQUNKLFdBQVc7QUFBQSxJQUNYLFFBQVEsRUFBRSxPQUFPLEVBQUUsU0FBUyxDQUFDLGdCQUFnQixrQkFBa0IsY0FBYyxzQkFBc0IsRUFBRSxFQUFFO0FBQUEsSUFDdkcsT0FBTyxFQUFFLHVCQUF1QixLQUFNLHNCQUFzQixNQUFNO0FBQUEsRUFDcEU7QUFBQSxFQUNBLGtCQUFrQixFQUFFLFVBQVUsWUFBWSxHQUFHO0FBQzNDLFFBQUksU0FBUyxXQUFXLGlCQUFpQixFQUFHLGFBQVksU0FBUyxJQUFJO0FBQ3JFLFFBQUksWUFBWSxRQUFRLE1BQU0sT0FBUSxRQUFPLENBQUM7QUFDOUMsV0FBTyxFQUFFLGFBQWEsVUFBVSxPQUFPLFFBQVEsQ0FBQyxFQUFFO0FBQUEsRUFDcEQ7QUFBQSxFQUNBLFNBQVMsRUFBRSxRQUFRLE1BQU0sTUFBTSxHQUFHO0FBQ2hDLGNBQVUsT0FBTyxNQUFNO0FBQ3ZCLGNBQVUsRUFBRSxRQUFRLE1BQU0sS0FBSyxNQUFNLE9BQU8sVUFBVSxPQUFPLFNBQVMsWUFBWSxDQUFDO0FBQUEsRUFDckY7QUFBQSxFQUNBLGFBQWE7QUFBQSxJQUNYLFNBQVM7QUFBQSxJQUNULEtBQUs7QUFBQSxNQUNILEVBQUUsTUFBTSxTQUFTLE1BQU0sU0FBUztBQUFBLE1BQ2hDLEVBQUUsTUFBTSxtQkFBbUIsTUFBTSxVQUFVO0FBQUEsTUFDM0MsRUFBRSxNQUFNLFVBQVUsTUFBTSwyQkFBMkI7QUFBQSxNQUNuRCxFQUFFLE1BQU0sYUFBYSxNQUFNLG9CQUFvQjtBQUFBLE1BQy9DLEVBQUUsTUFBTSxjQUFjLE1BQU0sY0FBYztBQUFBLElBQzVDO0FBQUEsSUFDQSxTQUFTLENBQUMsR0FBRyxDQUFDO0FBQUEsSUFDZCxRQUFRO0FBQUEsTUFDTixVQUFVO0FBQUEsTUFDVixTQUFTO0FBQUE7QUFBQSxRQUVQLFFBQVEsTUFBTSxLQUFLLElBQUk7QUFDckIsYUFBRyxRQUFRLFlBQVksQ0FBQyxTQUFTLFFBQVEsR0FBRyxNQUFNLFdBQVcsSUFBSSxDQUFDO0FBQ2xFLGlCQUFPLEdBQUcsT0FBTyxNQUFNLEdBQUc7QUFBQSxRQUM1QjtBQUFBLE1BQ0Y7QUFBQSxJQUNGO0FBQUEsSUFDQSxXQUFXLEVBQUUsTUFBTSxZQUFZLE1BQU0sT0FBTztBQUFBLElBQzVDLFFBQVEsRUFBRSxTQUFTLGNBQWM7QUFBQSxFQUNuQztBQUNGLENBQUM7IiwKICAibmFtZXMiOiBbIm1rZGlyU3luYyIsICJ3cml0ZUZpbGVTeW5jIiwgImRpcm5hbWUiLCAiam9pbiIsICJleGlzdHNTeW5jIiwgInJlYWRkaXJTeW5jIiwgImRpcm5hbWUiLCAiam9pbiIsICJmb2xkZXIiLCAiZmlsZXMiLCAidGl0bGUiLCAiZGlybmFtZSIsICJleGlzdHNTeW5jIiwgImpvaW4iLCAiZmlsZXMiLCAicmVhZGRpclN5bmMiLCAic2VjdGlvbnMiLCAidGl0bGUiLCAiam9pbiIsICJzdW1tYXJ5IiwgIm9yZGVyIiwgInBsYWluIiwgIm1rZGlyU3luYyIsICJkaXJuYW1lIiwgIndyaXRlRmlsZVN5bmMiLCAiZXhpc3RzU3luYyIsICJyZWFkZGlyU3luYyIsICJyZWFkRmlsZVN5bmMiLCAic3RhdFN5bmMiLCAid3JpdGVGaWxlU3luYyIsICJqb2luIiwgImVudHJ5IiwgImlzRm9yZWlnbiIsICJjZWxsc09mIiwgImNlbGxzT2YiLCAiZm9sZGVyIiwgImpvaW4iLCAiZXhpc3RzU3luYyIsICJyZWFkRmlsZVN5bmMiLCAid3JpdGVGaWxlU3luYyIsICJwYWdlT2YiLCAiZW50cnkiLCAicmVhZGRpclN5bmMiLCAiZmlsZXMiLCAic3RhdFN5bmMiXQp9Cg==
