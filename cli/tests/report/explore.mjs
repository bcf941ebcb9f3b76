// Clicks, drags, filters, compares and searches, and says what the page showed after each
// step: node explore.mjs PAGE PLAN

import { read, withPage } from "./chromium.mjs";

const [file, plan] = [process.argv[2], JSON.parse(process.argv[3])];

const shown = await withPage(file, async (page) => {
  const steps = {};
  const step = async (name) => {
    steps[name] = await read(page);
  };
  const centre = async (index) => {
    const { x, y, width, height } = await page.locator(`#capture-${index}`).boundingBox();
    return [x + width / 2, y + height / 2];
  };
  const click = async (index, key) => {
    if (key) await page.keyboard.down(key);
    await page.mouse.click(...(await centre(index)));
    if (key) await page.keyboard.up(key);
  };
  const choose = (selector, name) => page.locator(`${selector} label`).filter({ has: page.getByText(name, { exact: true }) }).click();
  const frame = (name) => page.locator(".frame").filter({ hasText: new RegExp(`^${name}$`) }).first();

  await step("opened");

  await click(plan.click);
  await step("clicked");
  await click(plan.shift, "Shift");
  await step("ranged");
  await click(plan.toggle, "Control");
  await step("toggled");
  const [fromX, fromY] = await centre(plan.drag[0]);
  const [toX] = await centre(plan.drag[1]);
  await page.mouse.move(fromX, fromY);
  await page.mouse.down();
  await page.mouse.move((fromX + toX) / 2, fromY - 20);
  await page.mouse.move(toX, fromY);
  await step("dragging");
  await page.mouse.up();
  await step("dragged");

  await page.keyboard.press("t");
  await page.keyboard.press("Escape");
  await step("cleared");
  await page.keyboard.press("Home");
  for (let at = 0; at < 5; at += 1) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await step("entered");
  for (let at = 0; at < 3; at += 1) await page.keyboard.press("Shift+ArrowRight");
  await step("extended");
  await page.keyboard.press("z");
  await step("zoomed in time");
  await page.keyboard.press("0");
  await page.keyboard.press("Control+a");
  await step("all");

  await choose("#tasks", plan.task);
  await step("task");
  await choose("#threads", plan.thread);
  await step("task and thread");
  await choose("#tasks", "All tasks");
  await step("thread");
  await choose("#threads", "All threads");

  await page.keyboard.press("/");
  await page.keyboard.type(plan.search);
  await step("searched");
  await page.locator("#search").fill("");
  await page.keyboard.press("Escape");

  await page.keyboard.press("o");
  await step("own");
  await page.click("#own");
  await step("own no more");

  await frame(plan.zoom).click();
  await step("zoomed");
  await page.keyboard.press("f");
  await page.keyboard.press("Escape");
  await step("zoomed out");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "Enter"]) await page.keyboard.press(key);
  await step("zoomed by keyboard");
  await page.keyboard.press("Escape");
  await choose("#by", "By task");
  await step("by task");
  await choose("#by", "By thread");
  await step("by thread");
  await choose("#by", "Functions");
  await page.click("#sort-total");
  await step("sorted");
  await page.click("#sort-self");

  await page.click("#compare-usual");
  await step("usual");
  await page.locator("#unit label", { hasText: "Shares" }).click();
  await step("shares");
  await page.locator("#unit label", { hasText: "CPU s per s" }).click();
  await page.click("#swap");
  await step("swapped");
  await page.click("#slot-base");
  await click(plan.compare[0][0]);
  await click(plan.compare[0][1], "Shift");
  await page.click("#slot-other");
  await click(plan.compare[1][0]);
  await click(plan.compare[1][1], "Shift");
  await choose("#tasks", plan.task);
  await page.locator("#search").fill(plan.search);
  await step("compared");
  await page.locator("#search").fill("");
  await choose("#tasks", "All tasks");
  await page.locator("#search").blur();
  await page.keyboard.press("c");
  await step("compares no more");

  const colour = () => page.evaluate(() => getComputedStyle(document.documentElement).color);
  const colours = { light: await colour() };
  await page.emulateMedia({ colorScheme: "dark" });
  colours.dark = await colour();
  await page.emulateMedia({ media: "print" });
  colours.printed = await colour();
  await page.emulateMedia({ media: "screen" });
  await page.click("#theme");
  colours.chosenLight = await colour();
  await page.click("#theme");
  await page.emulateMedia({ colorScheme: "light" });
  colours.chosenDark = await colour();

  await page.keyboard.press("?");
  const help = await page.locator("#help").isVisible();
  await page.keyboard.press("Escape");
  const helpAfter = await page.locator("#help").isVisible();
  return { steps, colours, help: [help, helpAfter] };
});
console.log(JSON.stringify(shown));
