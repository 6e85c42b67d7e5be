// Shows how many runs are selected, and enables Compare from two on. Without this script the server reports a wrong selection.
(() => {
  "use strict";
  const form = document.querySelector("form.compare");
  if (!form) return;
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  const button = form.querySelector("button");
  const said = form.querySelector("output");
  const count = () => {
    const selected = boxes.filter((box) => box.checked).length;
    button.disabled = selected < 2;
    said.textContent =
      selected === 0 ? "Select two or more runs." : selected === 1 ? "1 run selected; select another." : `${selected} runs selected.`;
  };
  form.addEventListener("change", count);
  // A browser that goes back restores the checkboxes later.
  window.addEventListener("pageshow", count);
  count();
})();
