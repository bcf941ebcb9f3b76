// Loads a profile into speedscope's released page and prints the cells of its table of
// functions: node speedscope.mjs INDEX_HTML PROFILE

import { pathToFileURL } from "node:url";
import { withBrowser } from "./report/chromium.mjs";

const [page_file, profile] = process.argv.slice(2);

const rows = await withBrowser(
  async (page) => {
    // Only rows in sight are there.
    await page.setViewportSize({ width: 1600, height: 4000 });
    await page.goto(`${pathToFileURL(page_file).href}#view=sandwich`);
    await page.setInputFiles("input[type=file]", profile);
    await page.waitForSelector("tr td");
    return page.evaluate(() =>
      [...document.querySelectorAll("tr")].map((row) => [...row.cells].map((it) => it.textContent)),
    );
  },
  // The page is modules, which a page of a file may not load otherwise.
  ["--allow-file-access-from-files"],
);
console.log(JSON.stringify(rows));
