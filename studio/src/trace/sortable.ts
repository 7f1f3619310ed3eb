import { button, type Child, h, replace } from "../page/dom.ts";

/** A column: its head, its cell, and what rows are sorted by. */
export interface SortColumn<Row> {
  head: string;
  cell: (row: Row) => Child;
  key: (row: Row) => number | string;
  numeric?: boolean;
}

/** Rows in the order of a column; equal ones, and those without a value, as they were. */
export function sorted<Row>(rows: Row[], { key }: SortColumn<Row>, down: boolean): Row[] {
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (Number.isNaN(x) || Number.isNaN(y))
      return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    return x < y ? -sign : x > y ? sign : 0;
  });
}

/** A table that is sorted by the column whose head is pressed. */
export function sortableTable<Row>(
  label: string,
  columns: SortColumn<Row>[],
  rows: Row[],
): HTMLElement {
  const body = h("tbody", {});
  const heads = columns.map((c) => h("th", { scope: "col", class: c.numeric ? "num" : null }));
  let chosen = -1;
  let down = false;
  const draw = (): void => {
    const column = columns[chosen];
    const shown = column ? sorted(rows, column, down) : rows;
    heads.forEach((head, i) => {
      const mark = i === chosen ? (down ? " ↓" : " ↑") : "";
      head.ariaSort = i === chosen ? (down ? "descending" : "ascending") : null;
      head.querySelector("button")!.textContent = columns[i]!.head + mark;
    });
    const cell = (c: SortColumn<Row>, row: Row): HTMLElement =>
      h("td", { class: c.numeric ? "num nowrap" : null }, c.cell(row));
    replace(
      body,
      shown.map((row) =>
        h(
          "tr",
          {},
          columns.map((c) => cell(c, row)),
        ),
      ),
    );
  };
  heads.forEach((head, i) => {
    const sort = (): void => {
      // Numbers begin with the largest, which is what one looks for.
      down = i === chosen ? !down : columns[i]!.numeric === true;
      chosen = i;
      draw();
    };
    head.append(button("", sort, { class: "sort" }));
  });
  draw();
  return h(
    "div",
    { class: "table-wrap", tabindex: 0, role: "region", "aria-label": label },
    h("table", {}, h("thead", {}, h("tr", {}, heads)), body),
  );
}
