// Takes the pictures of the documentation: node screenshots.mjs PAGE FOLDER

import { join } from "node:path";
import { withPage } from "./chromium.mjs";

const [file, folder] = process.argv.slice(2);

await withPage(file, async (page) => {
  const shoot = async (name) => {
    await page.mouse.move(1, 1);
    await page.screenshot({ path: join(folder, `${name}.png`) });
  };
  await shoot("report-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.click("#compare-usual");
  await page.click("#own");
  await shoot("report-compare-dark");
  await page.click("#own");
  await page.emulateMedia({ colorScheme: "light" });
  await page.keyboard.press("c");
  await page.click("#pick-all");
  await page.locator("#by label", { hasText: "By task" }).click();
  await page.setViewportSize({ width: 420, height: 1180 });
  await shoot("report-narrow");
  return {};
});
