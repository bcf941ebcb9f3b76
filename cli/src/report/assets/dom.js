// Making elements. Nothing here, or elsewhere, makes them out of text.

/**
 * An element. `text` is its text, `style` sets properties, `on…` listens, anything
 * else is an attribute; what is undefined, null or false is left out.
 */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") element.textContent = value;
    else if (key === "style") for (const [name, it] of Object.entries(value)) element.style.setProperty(name, it);
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== undefined && child !== null));
}

/** A name that may be broken where its parts meet. */
function breakable(name) {
  const parts = name.split(/(?<=::|[/.])/);
  return make("bdi", {}, ...parts.flatMap((part, at) => (at === 0 ? [part] : [make("wbr"), part])));
}

/** A word on why there is nothing to see. */
function empty(text) {
  return make("p", { class: "empty", text });
}

/** Radio buttons in a row: `options` are pairs of value and text. */
function choice(fieldset, name, options, chosen, pick) {
  for (const old of fieldset.querySelectorAll("label")) old.remove();
  for (const [value, text] of options) {
    const input = make("input", { type: "radio", name, value, onchange: () => pick(value) });
    input.checked = value === chosen;
    fieldset.append(make("label", {}, input, make("span", { text })));
  }
}

const tip = byId("tip");

/** Shows lines of text beside a point of the window. */
function showTip(lines, x, y) {
  fill(tip, ...lines.map((text, at) => make(at === 0 ? "strong" : "span", { text })));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - width - 8);
  const below = y + 18 + height < window.innerHeight;
  tip.style.setProperty("left", `${Math.max(8, left)}px`);
  tip.style.setProperty("top", `${Math.max(8, below ? y + 18 : y - height - 12)}px`);
}

/** The same beside an element that has the keyboard's attention. */
function showTipAt(element, lines) {
  const { left, top, width, height } = element.getBoundingClientRect();
  showTip(lines, left + Math.min(width / 2, 200), top + Math.min(height, 20) / 2);
}

function hideTip() {
  tip.hidden = true;
}
