// A text in a block that the keyboard scrolls, and a button that puts it on the clipboard.
const SAID_MS = 2000;

export default (component) => {
  if (isOvertaken(component)) return;
  const { data, parentElement } = component;
  const button = parentElement.querySelector("button");
  const block = parentElement.querySelector("pre");
  block.textContent = data.text;
  block.ariaLabel = data.label;
  const say = (text) => {
    button.textContent = text;
    clearTimeout(button.timer);
    button.timer = setTimeout(() => {
      button.textContent = "Copy";
    }, SAID_MS);
  };
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(data.text);
      say("Copied");
    } catch {
      // No clipboard without a secure address: the text is marked, for the keyboard to copy.
      getSelection().selectAllChildren(block);
      say("Press Ctrl C");
    }
  };
};
