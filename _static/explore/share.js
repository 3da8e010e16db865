// What a reader takes along: the link to what is shown, how to cite it, and a card of 1200 by 630 pixels drawn from the canvases.
(function (explore) {
  "use strict";
  if (typeof document === "undefined") return;
  const { element } = explore, BOOK = "Lazy and Feature Learning: a reproducible companion";

  function bibtex() {
    const title = (document.querySelector("article h1")?.firstChild?.textContent || "").trim() || BOOK, now = new Date();
    return `@misc{lazyfeature${now.getFullYear()},\n  title = {${title}},\n  howpublished = {${BOOK}},\n  url = {${location.href}},\n`
      + `  note = {opened ${now.toISOString().slice(0, 10)}}\n}`;
  }

  // words in lines of a width
  function wrapped(c, words, x, y, width, line) {
    let text = "";
    words.split(/\s+/).forEach((word) => {
      const longer = text ? text + " " + word : word;
      if (text && c.measureText(longer).width > width) {
        c.fillText(text, x, y);
        [text, y] = [word, y + line];
      } else text = longer;
    });
    c.fillText(text, x, y);
    return y + line;
  }

  // what it is, its panels side by side, what was found, and where it stands
  function card(root) {
    const canvas = element("canvas", { width: 1200, height: 630 }), c = canvas.getContext("2d"), dark = document.documentElement.dataset.theme === "dark";
    const [ground, ink, faint] = dark ? ["#14181e", "#d8dde3", "#7f8994"] : ["#ffffff", "#1b1f24", "#5f6b76"];
    [c.fillStyle] = [ground];
    c.fillRect(0, 0, 1200, 630);
    const title = root.querySelector("figcaption b, figcaption strong")?.textContent || root.dataset.title || document.querySelector("article h1")?.firstChild?.textContent || BOOK;
    [c.fillStyle, c.font] = [ink, "600 34px system-ui, sans-serif"];
    wrapped(c, title.trim(), 40, 62, 1120, 42);
    const seen = [...root.querySelectorAll(".live canvas")].filter((one) => one.width && one.height), room = 1120 - 24 * (seen.length - 1);
    const share = seen.reduce((sum, one) => sum + one.width / one.height, 0), height = Math.min(300, room / Math.max(share, 0.1));
    let x = 40;
    seen.forEach((one) => {
      const width = height * one.width / one.height;
      c.drawImage(one, x, 140, width, height);
      x += width + 24;
    });
    [c.fillStyle, c.font] = [ink, "24px system-ui, sans-serif"];
    const said = [...root.querySelectorAll(".live .card, .live .said")].map((one) => one.textContent.trim()).filter(Boolean);
    wrapped(c, (said[0] || "").slice(0, 260), 40, 150 + (seen.length ? height + 24 : 10), 1120, 30);
    [c.fillStyle, c.font] = [faint, "18px system-ui, sans-serif"];
    c.fillText(location.protocol === "file:" ? BOOK : location.href.slice(0, 120), 40, 605);
    return canvas;
  }

  async function copied(button, text) {
    const words = button.dataset.words;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      window.prompt("Copy:", text); // a page on disk, or one that may not
    }
    setTimeout(() => { button.textContent = words; }, 2000);
  }

  // the buttons below what is shown
  explore.share = function (root) {
    const make = (words, act) => {
      const button = element("button", { type: "button", "data-words": words }, words);
      button.addEventListener("click", () => act(button));
      return button;
    };
    return element("div", { class: "share", role: "group", "aria-label": "Take it along" },
      make("Copy link", (button) => copied(button, location.href)),
      make("Copy BibTeX", (button) => copied(button, bibtex())),
      make("Save card", () => element("a", { download: (root.id || "card") + ".png", href: card(root).toDataURL("image/png") }).click()));
  };
  Object.assign(explore.share, { bibtex, card });
})(globalThis.Explore = globalThis.Explore || {});
