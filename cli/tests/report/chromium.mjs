// A browser that knows only the page, and reads what the page shows.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Opens a fresh browser, calls `act` with a page of it and returns what it returns. */
export async function withBrowser(act, flags = []) {
  const profile = mkdtempSync(join(tmpdir(), "tachograph-test-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [...FLAGS, ...flags],
    colorScheme: "light",
    viewport: { width: 1280, height: 980 },
  });
  try {
    context.setDefaultTimeout(120_000);
    return await act(context.pages()[0] ?? (await context.newPage()));
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Opens the report in a fresh browser, calls `act` and returns what it returns. */
export function withPage(file, act) {
  return withBrowser(async (page) => {
    const heard = { requests: [], complaints: [] };
    page.on("request", (request) => heard.requests.push(request.url()));
    page.on("console", (message) => heard.complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => heard.complaints.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      heard.complaints.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    const url = pathToFileURL(file).href;
    await page.goto(url);
    await page.waitForSelector("#report:not([hidden])");
    const shown = await act(page);
    return { ...shown, ...heard, requests: heard.requests.filter((it) => it !== url) };
  });
}

/** All that the page shows, as text. */
export function read(page) {
  return page.evaluate(() => {
    const text = (element) => element?.textContent ?? "";
    const texts = (selector) => [...document.querySelectorAll(selector)].map(text);
    const facet = (selector) =>
      [...document.querySelectorAll(`${selector} .facet`)].map((it) => [
        text(it.querySelector(".facet-name")),
        text(it.querySelector(".facet-amount")),
      ]);
    return {
      title: document.title,
      facts: [...document.querySelectorAll("#facts div")].map((it) => [text(it.querySelector("dt")), text(it.querySelector("dd"))]),
      slots: texts("#slots .slot-text"),
      cpu: texts("#slots .cpu"),
      selected: [...document.querySelectorAll('.capture[aria-selected="true"]')].map((it) => Number(it.dataset.index)),
      captures: document.querySelectorAll(".capture").length,
      tasks: facet("#tasks"),
      threads: facet("#threads"),
      rows: [...document.querySelectorAll("#functions tbody tr")].map((row) => [...row.cells].map(text)),
      frames: [...document.querySelectorAll(".frame")].map((it) => ({
        label: it.getAttribute("aria-label"),
        level: Number(it.getAttribute("aria-level")),
        width: it.style.width,
        matches: it.classList.contains("match"),
        isAbove: it.classList.contains("above"),
      })),
      matched: text(document.getElementById("matched")),
      empty: texts(".empty"),
      notes: texts("#notes td"),
      tip: document.getElementById("tip").hidden ? null : text(document.getElementById("tip")),
    };
  });
}
