const box = document.createElement("textarea");
box.innerHTML = text.text; box.value = new DOMParser().parseFromString(box.value, "text/html").body.textContent;
const said = (word) => { button.label = word; setTimeout(() => { button.label = "Copy"; }, 1500); };
const by_hand = () => { document.body.append(box); box.select(); document.execCommand("copy"); box.remove(); };
navigator.clipboard ? navigator.clipboard.writeText(box.value).catch(by_hand) : by_hand();
said("Copied");
