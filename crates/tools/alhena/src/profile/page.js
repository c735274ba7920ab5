"use strict";
// Tables are sorted by a click on a heading: numbers the largest first, text from A to Z, and the other way at the next click.
for (const table of document.querySelectorAll(".sortable")) {
  table.classList.add("ready");
  table.querySelectorAll("thead th").forEach((heading, column) => {
    let direction = 0;
    heading.addEventListener("click", () => {
      const body = table.tBodies[0];
      const key = (row) => {
        const cell = row.cells[column];
        return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
      };
      const rows = [...body.rows];
      const isNumber = rows.length > 0 && typeof key(rows[0]) === "number";
      direction = direction === 0 ? (isNumber ? -1 : 1) : -direction;
      rows.sort((a, b) => direction * (isNumber ? key(a) - key(b) : key(a).localeCompare(key(b))));
      body.append(...rows);
    });
  });
}
