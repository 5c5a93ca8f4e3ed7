/** Splits a line of CSV at its commas. Cells that contain commas or quotes are enclosed in double quotes. */
export function splitCsv(line: string): string[] {
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let i = 0; i < line.length; i++) {
    const character = line[i];
    if (character === '"' && isQuoted && line[i + 1] === '"') cell += line[++i];
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      cells.push(cell.trim());
      cell = '';
    } else cell += character;
  }
  return [...cells, cell.trim()];
}
