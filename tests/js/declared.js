// What the explorer's scripts declare: as in the browser they are put together, not imported.

import { readFileSync } from "node:fs";

const UI = new URL("../../ui/", import.meta.url);

// The declarations of these `names` in these files, in order; `head` stands in front of them.
export function declared(names, files, head = "") {
  const texts = files.map((file) => readFileSync(new URL(file, UI), "utf8").replace(/^export default /gm, "void "));
  return new Function([head, ...texts, `return { ${names.join(", ")} };`].join("\n"))();
}
