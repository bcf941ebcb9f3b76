// Opens pages and says what they show, and what they refuse: node glance.mjs PAGE…

import { read, withPage } from "./chromium.mjs";

const glances = [];
for (const file of process.argv.slice(2)) {
  const glance = await withPage(file, async (page) => {
    const shown = await read(page);
    // Everything that is hidden is looked at, too.
    for (const summary of await page.locator("summary:visible").all()) await summary.click();
    const marks = await page.evaluate(() => ({
      scripts: document.scripts.length,
      intruders: document.querySelectorAll("#report img, #report iframe, #report script, #report b[onclick]").length,
      owned: "owned" in globalThis,
      text: document.body.innerText,
    }));
    return { shown, marks };
  });
  // What follows is meant to be complained about.
  const refused = await withPage(file, (page) =>
    page.evaluate(async () => {
      const tries = {
        markup: () => (document.body.innerHTML = "<b>owned</b>"),
        request: () => fetch("data:text/plain,owned"),
      };
      const refused = {};
      for (const [name, attempt] of Object.entries(tries)) {
        try {
          await attempt();
          refused[name] = false;
        } catch {
          refused[name] = true;
        }
      }
      const script = document.createElement("script");
      try {
        script.text = "globalThis.owned = true";
        document.body.append(script);
      } catch {
        // It may be refused even before it is there.
      }
      refused.script = !("owned" in globalThis);
      return { refused };
    }),
  );
  glances.push({ ...glance, refused: refused.refused });
}
console.log(JSON.stringify(glances));
