// What a reader takes along: the link to what is shown, how to cite it, and a card of 1200 by 630 pixels drawn from the canvases.
(function (explore) {
  "use strict";
  if (typeof document === "undefined") return;
  const { element } = explore, BOOK = "Lazy and Feature Learning: a reproducible companion";

  // the page's title, without its number and its own link
  function heading() {
    const own = document.querySelector("article h1")?.cloneNode(true);
    own?.querySelectorAll(".section-number, .headerlink").forEach((one) => one.remove());
    return own?.textContent.trim() || BOOK;
  }

  // the address of one part of the page, whatever another part has written into it since
  const link = (root) => (root ? location.href.split("#")[0] + (root.dataset.address || (root.id ? "#" + root.id : "")) : location.href);
  explore.keep = function (root, given) {
    root.dataset.address = `#${root.id}?${given}`;
    history.replaceState(null, "", root.dataset.address);
  };

  // a page on disk has no address for others, but a name in the book
  function bibtex(root) {
    const now = new Date(), day = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
    const plain = (words) => words.replace(/[{}\\]/g, "").replace(/[&%$#_]/g, "\\$&"), disk = location.protocol === "file:";
    const fields = {
      author: `{The authors of ${BOOK}}`, title: `{${plain(heading())}}`, howpublished: BOOK, year: day.slice(0, 4), url: disk ? "" : link(root),
      note: (disk ? `Page ${plain(link(root).split("/").slice(-2).join("/"))}, opened` : "Opened") + ` on ${day}`,
    };
    const lines = Object.entries(fields).filter(([, value]) => value).map(([name, value]) => `  ${name} = {${value}}`);
    return `@misc{lazyfeature${day.slice(0, 4)}${root?.id ? "-" + root.id : ""},\n${lines.join(",\n")}\n}`;
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
    const title = root.querySelector("figcaption b, figcaption strong")?.textContent || root.dataset.short || heading();
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
    wrapped(c, (said[0] || "").replace(/^(.{259}).+$/s, "$1…"), 40, 150 + (seen.length ? height + 24 : 10), 1120, 30);
    [c.fillStyle, c.font] = [faint, "18px system-ui, sans-serif"];
    c.fillText(location.protocol === "file:" ? BOOK : link(root).slice(0, 120), 40, 605);
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
      make("Copy link", (button) => copied(button, link(root))),
      make("Copy BibTeX", (button) => copied(button, bibtex(root))),
      make("Save card", () => element("a", { download: (root.id || "card") + ".png", href: card(root).toDataURL("image/png") }).click()));
  };
  // a field for the links of others; `given` says what is here, `add` takes the seeds that are new
  explore.others = function (given, add) {
    const field = element("input", { type: "text", placeholder: "links of others", "aria-label": "Links of others, whose training sets are added" });
    const said = element("span", { class: "pooled", role: "status" });
    function read(text) {
      const found = explore.judge.pooled(text, given());
      [field.value, said.textContent] = ["", found.said];
      if (found.seeds.length) add(found.seeds);
    }
    field.addEventListener("paste", (event) => { // a field of one line would join the last word of a line and the next
      const text = event.clipboardData.getData("text");
      if (!text.includes("\n")) return;
      event.preventDefault();
      read(field.value + " " + text);
    });
    field.addEventListener("change", () => read(field.value));
    return [field, said];
  };
  Object.assign(explore.share, { bibtex, card, link });
})(globalThis.Explore = globalThis.Explore || {});
