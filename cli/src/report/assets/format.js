// Numbers, times and names as text. Times are UTC, as the names of captures are.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Keeps a number and its unit on one line. */
const NBSP = "\u00a0";
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function decimal(value, digits) {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function whole(value) {
  return decimal(value, 0);
}

/** CPU time, of nanoseconds. */
function cpuSeconds(nanos) {
  return `${decimal(nanos / 1e9, 2)}${NBSP}s`;
}

/** The same where there is little room. */
function cpuBriefly(nanos) {
  const seconds = nanos / 1e9;
  return `${decimal(seconds, seconds < 99.95 ? 2 : seconds < 999.5 ? 1 : 0)}${NBSP}s`;
}

/** CPU seconds per second. */
function cores(value) {
  return decimal(value, 2);
}

/** The same to a sample or so, where two are compared. */
function coresExactly(value) {
  return decimal(value, 4);
}

function percent(share) {
  return `${decimal(share * 100, 1)}${NBSP}%`;
}

/** With its sign, so that a change never looks like an amount. */
function signed(value, text) {
  const shown = text(Math.abs(value));
  if (!/[1-9]/.test(shown)) return text(0);
  return (value < 0 ? "−" : "+") + shown;
}

function plural(count, one, many = `${one}s`) {
  return `${whole(count)}${NBSP}${count === 1 ? one : many}`;
}

function two(value) {
  return String(value).padStart(2, "0");
}

/** A stretch of time, of milliseconds, in at most two units. */
function stretch(millis) {
  if (millis < MINUTE) return `${decimal(millis / SECOND, millis < 10 * SECOND ? 1 : 0)}${NBSP}s`;
  const [days, hours, minutes, seconds] = [
    Math.floor(millis / DAY),
    Math.floor((millis % DAY) / HOUR),
    Math.floor((millis % HOUR) / MINUTE),
    Math.floor((millis % MINUTE) / SECOND),
  ];
  const parts =
    days > 0 ? [days, "d", hours, "h"] : hours > 0 ? [hours, "h", two(minutes), "min"] : [minutes, "min", two(seconds), "s"];
  return (Number(parts[2]) > 0 ? parts : parts.slice(0, 2)).join(NBSP);
}

function timeOfDay(millis) {
  const time = new Date(millis);
  return `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}:${two(time.getUTCSeconds())}`;
}

function dayOf(millis) {
  const time = new Date(millis);
  return `${time.getUTCDate()}${NBSP}${MONTHS[time.getUTCMonth()]}`;
}

function moment(millis) {
  return `${dayOf(millis)}${NBSP}${new Date(millis).getUTCFullYear()}, ${timeOfDay(millis)}${NBSP}UTC`;
}

/**
 * Names come out of files that anybody may have written: what would not be seen,
 * or would turn the text around it, is spelled out.
 */
function visible(text) {
  return text.replace(/[\p{C}\u2028\u2029]/gu, (it) => `\\u{${it.codePointAt(0).toString(16)}}`);
}

/**
 * What a function belongs to, to give it a colour: the crate, package or
 * namespace its name begins with.
 */
function familyOf(name) {
  const rust = /[A-Za-z_][A-Za-z0-9_]*(?=::)/.exec(name);
  if (rust) return rust[0];
  const go = /^[A-Za-z0-9_./-]+(?=\.)/.exec(name);
  return go ? go[0].split(".")[0] : "";
}

/** A small number that is always the same for the same text. */
function hash(text) {
  let sum = 2166136261;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 16777619);
  return sum >>> 0;
}
