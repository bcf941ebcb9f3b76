// The functions as a table that sorts by any column.

const MORE = 200;

/** What the columns of a comparison are about. */
function groupHeadings() {
  const group = (text) => make("th", { scope: "colgroup", colspan: 3, class: "group", text });
  return make("tr", { class: "groups" }, group("Self"), group("Cumulative"), make("th"));
}

class Functions {
  constructor(recording, derived) {
    this.recording = recording;
    this.derived = derived;
    this.holder = byId("functions");
    watch(["base", "other", "task", "thread", "unit", "own", "search", "sort", "listed"], () => this.draw());
  }

  columns() {
    const { base, other, measure } = this.derived;
    const name = { key: "name", title: "Function", text: (it) => this.recording.shorts[it] };
    if (!measure.compares) {
      const amounts = (key, title, sums) => [
        { key, title, value: (it) => sums[it], text: (it) => cpuSeconds(sums[it]) },
        { key: `${key}-share`, title: "Share", label: `${title}, share`, value: (it) => sums[it], text: (it) => percent(measure.share(sums[it])), meter: (it) => measure.share(sums[it]) },
      ];
      return [...amounts("self", "Self", base.functions.self), ...amounts("total", "Cumulative", base.functions.total), name];
    }
    const amounts = (key, title, first, second) => [
      { key: `${key}-base`, title: "Base", label: `${title}, base`, value: (it) => first[it], text: (it) => measure.text(measure.ofBase(first[it])) },
      { key: `${key}-other`, title: "Other", label: `${title}, other`, value: (it) => second[it], text: (it) => measure.text(measure.ofOther(second[it])) },
      {
        key,
        title: "Change",
        label: `${title}, change`,
        value: (it) => Math.abs(measure.change(first[it], second[it])),
        text: (it) => signed(measure.change(first[it], second[it]), measure.text),
        tone: (it) => measure.change(first[it], second[it]),
      },
    ];
    return [
      ...amounts("self", "Self", base.functions.self, other.functions.self),
      ...amounts("total", "Cumulative", base.functions.total, other.functions.total),
      name,
    ];
  }

  draw() {
    const { base, other, measure, matches } = this.derived;
    const isEmpty = this.derived.whyEmpty() !== null;
    byId("functions-card").hidden = isEmpty;
    if (isEmpty) return fill(this.holder);
    const columns = this.columns();
    const by = columns.find(({ key }) => key === view.sort.key) ?? columns.find(({ key }) => key === "self");
    const { total } = base.functions;
    const rows = [...total.keys()].filter(
      (it) => (total[it] > 0 || other?.functions.total[it] > 0) && (matches === null || matches[it] === 1),
    );
    const names = this.recording.names;
    const byName = (one, two) => (names[one] < names[two] ? -1 : names[one] > names[two] ? 1 : 0);
    const direction = view.sort.down ? 1 : -1;
    const size = (it) => total[it] + (other?.functions.total[it] ?? 0);
    rows.sort(
      (one, two) =>
        direction * (by.value ? by.value(two) - by.value(one) : byName(one, two)) || size(two) - size(one) || byName(one, two),
    );

    const unit = !measure.compares ? "" : view.unit === "share" ? ", in shares of the CPU time" : ", in CPU seconds per second";
    byId("table-note").textContent = `${plural(rows.length, "function")}${matches === null ? "" : " found"}${unit}`;
    const hadFocus = this.holder.contains(document.activeElement) ? document.activeElement.id : "";
    fill(
      this.holder,
      make(
        "table",
        { class: measure.compares ? "functions comparison" : "functions" },
        make("thead", {}, measure.compares ? groupHeadings() : null, make("tr", {}, ...columns.map((column) => this.heading(column, by)))),
        make("tbody", {}, ...rows.slice(0, view.listed).map((it) => this.row(it, columns))),
      ),
      rows.length > view.listed
        ? make("button", {
            type: "button",
            id: "more",
            text: `Show more (${whole(rows.length - view.listed)})`,
            onclick: () => change({ listed: view.listed + MORE }),
          })
        : null,
    );
    if (hadFocus !== "") byId(hadFocus)?.focus();
  }

  heading(column, by) {
    const sorted = column.key === by.key;
    const down = sorted ? !view.sort.down : true;
    return make(
      "th",
      { scope: "col", class: column.key === "name" ? "name" : "amount", "aria-sort": sorted ? (view.sort.down === (column.key !== "name") ? "descending" : "ascending") : "none" },
      make("button", {
        type: "button",
        id: `sort-${column.key}`,
        text: column.title,
        "aria-label": column.label,
        onclick: () => change({ sort: { key: column.key, down } }),
      }),
    );
  }

  row(it, columns) {
    const cell = ({ key, text, meter, tone }) => {
      if (key === "name") return this.nameCell(it, text(it));
      const isZero = !/[1-9]/.test(text(it));
      const colour = isZero ? " zero" : tone === undefined ? "" : tone(it) > 0 ? " more" : " less";
      return make(
        "td",
        { class: `amount${colour}` },
        meter === undefined ? null : make("span", { class: "meter" }, make("i", { style: { width: `${meter(it) * 100}%` } })),
        make("span", { text: text(it) }),
      );
    };
    return make("tr", { "data-function": it }, ...columns.map(cell));
  }

  nameCell(it, text) {
    const full = this.recording.names[it];
    const find = make("button", {
      type: "button",
      class: "find",
      title: `${full}\n\nfind it in the flame graph`,
      onclick: () => {
        byId("search").value = full;
        change({ search: full });
      },
    });
    find.append(breakable(text));
    return make("td", { class: this.recording.library[it] ? "name library-name" : "name" }, find);
  }
}
