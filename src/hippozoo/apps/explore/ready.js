const system = matchMedia("(prefers-color-scheme: dark)");
const follow = () => { dark.active = system.matches; };
system.addEventListener("change", follow);
follow();
// A file that is too large would end the connection, so it is refused before it is sent.
const inputs = (root) => [...root.querySelectorAll("*")].flatMap((one) =>
  [...(one.matches("input[type=file]") ? [one] : []), ...(one.shadowRoot ? inputs(one.shadowRoot) : [])]);
for (const input of inputs(document)) {
  input.addEventListener("change", (event) => {
    const large = [...input.files].some((one) => one.size > most);
    too_large.text = large ? "The file is larger than 64 MB; start hippozoo explore FILE to open it." : "";
    too_large.visible = large;
    if (!large) return;
    event.stopImmediatePropagation();
    input.value = "";
  }, true);
}
document.documentElement.dataset.ready = "yes";
