// Reads a file with a JSON list of Markdown texts, and prints for each what remark-gfm makes of it (HTML), the code that MDX finds in
// it, and the formulas with a command that mathematics renderers find in it, before and after Markdown was rendered.
import { readFileSync } from "node:fs";
import { RegisterHTMLHandler } from "mathjax-full/js/handlers/html.js";
import { TeX } from "mathjax-full/js/input/tex.js";
import { liteAdaptor } from "mathjax-full/js/adaptors/liteAdaptor.js";
import { mathjax } from "mathjax-full/js/mathjax.js";
import rehypeStringify from "rehype-stringify";
import remarkGfm from "remark-gfm";
import remarkMath from "remark-math";
import remarkMdx from "remark-mdx";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { visit } from "unist-util-visit";

RegisterHTMLHandler(liteAdaptor());
const COMMAND = /\\[A-Za-z]/;
const raw = { allowDangerousHtml: true };
const gfm = unified().use(remarkParse).use(remarkGfm).use(remarkRehype, raw).use(rehypeStringify, raw);
const mdx = unified().use(remarkParse).use(remarkMdx).use(remarkGfm);
const math = unified().use(remarkParse).use(remarkGfm).use(remarkMath);
const delimiters = {
  inlineMath: [["$", "$"], ["\\(", "\\)"]],
  displayMath: [["$$", "$$"], ["\\[", "\\]"]],
  processEscapes: true,
};
// Before Markdown is rendered `\\[` is an escaped bracket.
const delimitersOfSource = { ...delimiters, displayMath: [["$$", "$$"]] };

// Formulas of a page, as MathJax finds them in its text.
function formulas(html, options = delimiters) {
  const page = mathjax.document(html, { InputJax: new TeX(options) });
  page.findMath();
  return [...page.math].map((item) => item.math).filter((tex) => COMMAND.test(tex));
}

const CODE = /^[ \t]*```[^\n]*\n[\s\S]*?^[ \t]*```$|(?<!`)(`+)(?!`)[^\n]*?[^`\n]\1(?!`)/gm;

// Formulas of a text that is looked through before its Markdown is rendered, paragraph by paragraph; no formula begins or
// ends in code.
function source(text) {
  const escaped = text.replace(CODE, (code) => code.replace(/\$|\\(?=[()]|begin|end|ref|eqref)/g, " ")).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const divs = escaped.split(/\n[ \t]*\n/).map((part) => `<div>${part}</div>`);
  return formulas(divs.join(""), delimitersOfSource);
}

function code(text) {
  const found = [];
  try {
    visit(mdx.parse(text), (node) => {
      if (node.type.startsWith("mdx")) found.push(`${node.type} ${node.value ?? node.name}`);
    });
  } catch (error) {
    return [];  // what MDX refuses runs nowhere
  }
  return found;
}

function remark(text) {
  const found = [];
  visit(math.parse(text), (node) => {
    if (/^(inlineM|m)ath$/.test(node.type) && COMMAND.test(node.value)) found.push(node.value);
  });
  return found;
}

const texts = JSON.parse(readFileSync(process.argv[2], "utf8"));
const pages = texts.map((text) => {
  const html = String(gfm.processSync(text));
  return { html, code: code(text), formulas: [...formulas(html), ...source(text), ...remark(text)] };
});
process.stdout.write(JSON.stringify(pages));
