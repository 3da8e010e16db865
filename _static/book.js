// The ledger's filters, one switch that opens or closes all code of a chapter, display equations that fit their column,
// a question before the findings, the words around a hit of the search, definitions of terms, notebooks to save, explorables. Without a script all is shown.
(function () {
  "use strict";

  // what typeset mathematics says to one who types "lambda"
  const NAMES = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega";
  const GREEK = Object.fromEntries(NAMES.split(" ").map((name, i) => [name, "αβγδεζηθικλμνξοπρστυϕχψω"[i]]));

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    made.append(...children);
    return made;
  }

  // what the address leads to; a broken one leads nowhere
  function target() {
    try {
      return document.getElementById(decodeURIComponent(location.hash.slice(1).split("?")[0]));
    } catch {
      return null;
    }
  }

  function codeSwitch() {
    const folded = document.querySelectorAll("details.hide.above-input");
    const title = document.querySelector("article h1");
    if (!folded.length || !title) return;
    const button = element("button", { type: "button", class: "all-code", "aria-pressed": "false" }, "Show all code");
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-pressed") !== "true";
      folded.forEach((one) => { one.open = open; });
      button.setAttribute("aria-pressed", String(open));
      button.textContent = open ? "Hide all code" : "Show all code";
    });
    const bar = document.querySelector(".bd-header-article .article-header-buttons"); // where nothing moves for it
    if (bar && window.innerWidth > 700) bar.prepend(button);
    else title.after(button);
  }

  // a question before the findings: they and the key figure stand open once it is answered, or for one who asks for all
  // (`?open`); without a script, and on paper, all is open. The address keeps the answer: `?guess=1`
  function guess() {
    const box = document.querySelector("div.guess"), list = box && box.querySelector("ul");
    if (!list) return;
    const items = [...list.children], told = element("div", { class: "told", "aria-live": "polite" }), said = element("b", {});
    const question = box.querySelector("p"), given = new URLSearchParams(location.search);
    for (let next = list.nextSibling; next; next = list.nextSibling) told.append(next);
    question.id = question.id || "the-question";
    list.setAttribute("role", "group");
    list.setAttribute("aria-labelledby", question.id);
    const right = items.findIndex((one) => one.querySelector("strong"));
    const buttons = items.map((one, i) => {
      const button = element("button", { type: "button", "aria-pressed": "false" });
      const inside = one.querySelector("p") || one;
      button.append(...inside.childNodes);
      button.querySelectorAll("strong").forEach((strong) => strong.replaceWith(...strong.childNodes));
      one.setAttribute("role", "none");
      inside.replaceChildren(button);
      button.addEventListener("click", () => answer(i));
      return button;
    });
    const all = element("button", { type: "button", class: "all" }, "or show the findings without a guess");
    all.addEventListener("click", () => open(true));
    box.append(told, all);

    function open(kept) {
      box.classList.add("answered");
      if (kept) keep("open", "");
      window.dispatchEvent(new Event("resize")); // what was folded is fitted
    }

    function keep(name, value) {
      const now = new URLSearchParams(location.search);
      ["open", "guess"].forEach((one) => now.delete(one));
      now.set(name, value);
      history.replaceState(null, "", "?" + now.toString().replace(/=$/, "") + location.hash);
    }

    function answer(i) {
      buttons.forEach((one, k) => { one.setAttribute("aria-pressed", String(k === i)); one.disabled = k !== i; });
      if (buttons[right]) buttons[right].classList.add("right");
      const first = told.querySelector("p") || told;
      said.textContent = "You said: " + buttons[i].textContent.trim() + (i === right ? ", which is right. " : ". ");
      first.prepend(said);
      open(false);
      keep("guess", String(i));
    }

    // a link to what is folded opens it
    function sought() {
      const there = target();
      if (!there || box.classList.contains("answered") || there.getClientRects().length && getComputedStyle(there).visibility !== "hidden" && there.id !== "what-we-find") return;
      open(false);
      there.scrollIntoView();
    }
    const kept = given.get("guess");
    if (/^\d$/.test(kept) && buttons[+kept]) answer(+kept);
    else if (given.has("open")) open(false);
    else sought();
    window.addEventListener("hashchange", sought);
  }

  // what a claim rests on: `ledger.html?focus=C.Thm3-ridge` shows its statement and those of its argument, coloured by verdict
  function focused() {
    const box = document.getElementById("focus"), data = document.getElementById("rests");
    const asked = new URLSearchParams(location.search).get("focus");
    if (!box || !data || !asked) return;
    const claims = JSON.parse(data.textContent), seen = new Set();
    const close = element("button", { type: "button" }, "Close");
    close.addEventListener("click", () => { box.hidden = true; history.replaceState(null, "", location.pathname); });

    function tree(name, depth) {
      const own = claims[name], again = seen.has(name);
      seen.add(name);
      const line = element("div", { class: "verdict verdict-" + own.word.replace(/ /g, "-") });
      line.innerHTML = own.html; // of the ledger's own words
      const made = element("li", {}, line);
      line.append(" ", element("small", {}, element("a", { href: own.address }, name)));
      if (own.on.length && !again && depth < 6) made.append(element("ul", {}, ...own.on.map((one) => tree(one, depth + 1))));
      return made;
    }

    const known = [...document.querySelectorAll("tr[data-words]")].some((row) => row.dataset.words.startsWith(asked + " "));
    if (!claims[asked]) box.append(element("p", {}, known ? asked + " rests on no other claim that the ledger names. " : "The ledger has no claim " + asked + ". "), close);
    else box.append(element("p", {}, element("b", {}, "What " + asked + " rests on"), ": below each statement those of its argument. "), close, element("ul", {}, tree(asked, 0)));
    box.hidden = false;
    box.scrollIntoView();
    equations([box]);
  }

  // what the theme leaves without a name, or what scrolls out of the keyboard's reach
  function reachable() {
    const side = document.querySelector(".bd-sidebar-primary");
    if (side) Object.entries({ role: "complementary", "aria-label": "all pages" }).forEach(([name, value]) => side.setAttribute(name, value));
    document.querySelectorAll(".citation-list > .citation").forEach((one) => { one.setAttribute("role", "listitem"); });
    document.querySelectorAll(".bd-sidebar-primary li > details > summary").forEach((one) => {
      one.setAttribute("aria-label", "pages below " + one.closest("li").querySelector("a").textContent.trim());
    });
    document.querySelectorAll(".pst-scrollable-table-container, .text_html:has(> table.dataframe), .drawn.wide, .graph, article pre, article table, mjx-container").forEach((box) => {
      if (box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible") box.tabIndex = 0;
    });
  }

  // in a table the interval of a number stands below it, on one line, its error beside it
  function intervals() {
    document.querySelectorAll("div.cell_output td").forEach((cell) => {
      const [, value, interval] = cell.childElementCount ? [] : cell.textContent.match(/^([^[]+) (\[[^[]+\])$/) || [];
      if (/^\S+ ± \S+$/.test(cell.textContent)) cell.classList.add("kept");
      if (interval) cell.replaceChildren(value + " ", element("span", { class: "interval" }, interval));
    });
  }

  // the theme's title for paper has no number
  function printedTitle() {
    const [own, printed] = [document.querySelector("article h1"), document.querySelector("#jb-print-docs-body > h1")];
    if (!own || !printed) return;
    printed.replaceChildren(...[...own.cloneNode(true).childNodes].filter((one) => one.nodeName !== "A"));
  }

  // from below a figure to its code, which is folded away above it
  function toCode() {
    document.querySelectorAll("a.to-code").forEach((link) => link.addEventListener("click", (event) => {
      const figure = document.getElementById(link.hash.slice(1));
      const code = figure && figure.closest("div.cell").querySelector("details.hide.above-input");
      if (!code) return;
      event.preventDefault();
      code.open = true;
      code.scrollIntoView();
      code.querySelector("summary").focus({ preventScroll: true });
    }));
  }

  // a knob below a figure swaps its picture, in the same place, and the command that computes it; paper has the book's
  function knobs() {
    document.querySelectorAll("fieldset.knob").forEach((knob) => {
      const picture = knob.previousElementSibling.querySelector("picture");
      const [img, source] = [picture.querySelector("img"), picture.querySelector("source")];
      const own = { wide: img.getAttribute("src"), narrow: source && source.srcset, alt: img.alt };
      const inputs = [...knob.querySelectorAll("input")];
      const said = [...knob.querySelectorAll(".see > span")];
      const chosen = () => inputs.findIndex((one) => one.checked);
      const label = knob.closest("figure").id;
      const change = [...document.querySelectorAll("details.change")].find((one) => one.querySelector("pre").textContent.includes("=" + label + " "));
      const told = change ? [change.querySelector("pre"), change.querySelector(".see")] : [];
      const books = told.map((one) => one.innerHTML);

      function tell(i) {
        const sets = inputs[i].dataset.sets;
        told.forEach((one, j) => { one.innerHTML = books[j]; });
        if (!sets || !change) return;
        told[0].textContent = told[0].textContent.replace(/'.*'/, () => "'" + sets + "'");
        told[1].innerHTML = said[i].innerHTML;
      }

      function show(i) {
        const files = inputs[i].dataset;
        const box = img.getBoundingClientRect();
        if (!img.style.aspectRatio) img.style.aspectRatio = box.width + " / " + box.height; // of the book's
        if (source) source.srcset = files.narrow || own.narrow;
        img.src = files.wide || own.wide;
        img.alt = files.wide ? said[i].textContent : own.alt;
      }

      function turn() {
        show(chosen());
        tell(chosen());
        said.forEach((one, i) => { one.classList.toggle("shown", i === chosen()); });
      }

      knob.addEventListener("change", turn);
      window.addEventListener("resize", () => { if (!inputs[chosen()].dataset.wide) img.style.aspectRatio = ""; });
      window.addEventListener("beforeprint", () => show(inputs.findIndex((one) => !one.dataset.wide)));
      window.addEventListener("afterprint", turn);
    });
  }

  function choice(name, label, values) {
    const select = element("select", { name: name, "aria-label": label }, element("option", { value: "" }, label));
    values.forEach((value) => select.append(element("option", { value: value }, value)));
    return select;
  }

  function ledger() {
    const place = document.getElementById("ledger-filters");
    const claim = location.pathname.endsWith("/ledger.html") && location.hash.match(/^#([A-Z])\./);
    if (claim) location.replace("paper-" + claim[1].toLowerCase() + ".html" + location.hash); // where it stands now
    if (!place) return;
    const tables = [...document.querySelectorAll("table.ledger")].filter((table) => table.querySelector("[data-verdict]"));
    const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
    const values = (name) => [...new Set(rows.map((row) => row.dataset[name]))].filter(Boolean).sort();
    const text = element("input", { type: "search", name: "q", placeholder: "search the claims", "aria-label": "search the claims" });
    const chosen = ["verdict", "paper", "chapter", "registered", "code"].filter((name) => values(name).length > 1)
      .map((name) => choice(name, "any " + name, values(name)));
    const folded = document.querySelector("details.index"); // the ledger's index, not the rows of a paper
    const order = choice("order", "in the papers' order", ["by verdict", "by chapter"]);
    const count = element("output", { "aria-live": "polite" });
    const place_of = new Map(rows.map((row, i) => [row, i]));

    // the other claims of a paper are behind a button, but for one who looks for something
    tables.forEach((table) => {
      if (!table.querySelector("tr.other") || !table.querySelector("tr:not(.other) td")) return;
      const button = element("button", { type: "button", class: "all-claims" }, "Show all " + table.tBodies[0].rows.length + " claims");
      button.addEventListener("click", () => { whole(table); });
      table.classList.add("few");
      table.after(button);
    });

    function whole(table) {
      table.classList.remove("few");
      if (table.nextElementSibling && table.nextElementSibling.matches("button.all-claims")) table.nextElementSibling.remove();
    }

    // the address of one claim opens it
    function toClaim() {
      const row = rows.find((one) => one === target());
      if (!row) return;
      whole(row.closest("table"));
      row.querySelector("details").open = true;
      row.scrollIntoView(); // below the filters, which stay
    }

    const split = (words) => words.toLowerCase().split(/\s+/).filter(Boolean);

    function has(row, words) {
      const said = (row.textContent + " " + (row.dataset.words || "")).toLowerCase();
      return words.every((word) => said.includes(word) || said.includes(GREEK[word]));
    }

    function show() {
      const words = split(text.value);
      let shown = 0;
      rows.forEach((row) => {
        const fits = has(row, words) && chosen.every((one) => !one.value || row.dataset[one.name] === one.value);
        row.hidden = !fits;
        shown += fits;
      });
      tables.forEach((table) => {
        const section = table.closest("section");
        const empty = ![...table.tBodies[0].rows].some((row) => !row.hidden);
        (section && !section.contains(place) ? section : table).hidden = empty; // never the field itself
        if (words.length || order.value || chosen.some((one) => one.value)) whole(table);
      });
      if (folded && asked()) folded.open = true;
      count.textContent = shown + " of " + rows.length + " claims";
      if (!shown) advise();
    }

    // words that no claim here has lead on to some that claims have
    function advise() {
      const tries = ["jamming ensemble", "C.Thm2", "lambda", "exponent", "width"]
        .filter((words) => rows.some((row) => has(row, split(words)))).slice(0, 3);
      tries.forEach((words, i) => {
        const button = element("button", { type: "button" }, words);
        button.addEventListener("click", () => {
          [text, ...chosen].forEach((one) => { one.value = one === text ? words : ""; });
          show();
          keep();
          text.focus();
        });
        count.append(i ? ", " : "; try ", button);
      });
    }

    // what is asked for stands in the address, to be sent to somebody
    const asked = () => new URLSearchParams([text, ...chosen].filter((one) => one.value).map((one) => [one.name, one.value])).toString();
    const keep = () => history.replaceState(null, "", (asked() ? "?" + asked() : location.pathname) + location.hash);

    function sort() {
      const key = order.value.replace("by ", "");
      const rank = (row) => (key in row.dataset ? row.dataset[key] : "");
      tables.forEach((table) => {
        const own = [...table.tBodies[0].rows];
        own.sort((a, b) => rank(a).localeCompare(rank(b)) || place_of.get(a) - place_of.get(b));
        table.tBodies[0].append(...own);
      });
    }

    [text, ...chosen].forEach((one) => one.addEventListener("input", () => { show(); keep(); }));
    order.addEventListener("input", () => { sort(); show(); });
    window.addEventListener("hashchange", toClaim);
    place.append(text, ...chosen, order, count);
    const given = new URLSearchParams(location.search);
    [text, ...chosen].forEach((one) => { one.value = given.get(one.name) || ""; });
    show();
    toClaim();
  }

  // a node of a graph, under the pointer or the keyboard, shows its own edges and their other ends
  function graphs() {
    document.querySelectorAll(".graph [data-node]").forEach((node) => {
      const graph = node.closest(".graph"), name = node.dataset.node;
      const own = [...graph.querySelectorAll("path")].filter((one) => one.dataset.ends.split(" ").includes(name));
      const ends = new Set(own.flatMap((one) => one.dataset.ends.split(" ")));
      const near = [...own, ...[...graph.querySelectorAll("[data-node]")].filter((one) => ends.has(one.dataset.node))];
      const show = (on) => () => {
        graph.classList.toggle("asked", on);
        near.forEach((one) => one.classList.toggle("near", on));
      };
      ["pointerenter", "focus"].forEach((kind) => node.addEventListener(kind, show(true)));
      ["pointerleave", "blur"].forEach((kind) => node.addEventListener(kind, show(false)));
    });
  }

  // an equation wider than its column is set smaller, to 70 %; beyond, it scrolls
  function fit() {
    document.querySelectorAll("div.math mjx-container").forEach((one) => {
      if (!one.clientWidth) return; // folded away: fitted when it opens
      one.style.fontSize = "";
      const size = parseFloat(getComputedStyle(one).fontSize);
      for (let share = 0.95; share >= 0.7 && one.scrollWidth > one.clientWidth + 1; share -= 0.05) {
        one.style.fontSize = (size * share) + "px";
      }
    });
  }

  async function equations(added) {
    while (document.querySelector(".math") && !(window.MathJax && MathJax.startup && MathJax.startup.promise)) {
      await new Promise((done) => setTimeout(done, 50));
    }
    if (!window.MathJax) return;
    await MathJax.startup.promise;
    if (added) return MathJax.typesetPromise(added);
    fit();
    document.documentElement.classList.add("typeset");
    reachable();
    window.addEventListener("resize", fit);
    document.addEventListener("toggle", fit, true);
  }

  // a page that the search opens has the words asked for marked: not letters, and not those of the sidebar
  function marked() {
    document.querySelectorAll("span.highlighted").forEach((one) => {
      if (one.textContent.length < 3 || !one.closest("article")) one.replaceWith(...one.childNodes);
    });
  }

  // below each hit of the search the words around it
  function snippets() {
    const results = document.getElementById("search-results");
    if (!results) return;
    const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const script = element("script", { src: "_static/texts.js" });
    function tell(hit) {
      const link = hit.querySelector("a");
      if (!link || hit.querySelector(".snippet")) return;
      const page = link.getAttribute("href").split(/[?#]/)[0].replace(/\.html$/, "");
      const text = (window.BOOK_TEXTS || {})[page] || "";
      const at = Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((i) => i >= 0));
      if (!Number.isFinite(at)) return;
      const start = Math.max(0, at - 80);
      hit.append(element("p", { class: "snippet" }, (start ? "… " : "") + text.slice(start, at + 140) + " …"));
    }
    const all = () => results.querySelectorAll("li").forEach(tell);
    script.addEventListener("load", () => {
      all();
      new MutationObserver(all).observe(results, { childList: true, subtree: true });
    });
    document.head.append(script);
  }

  // a link to the glossary tells its definition under the pointer or the keyboard, inside the window, and a measured
  // number its interval; one to an equation or a figure shows that, unless it is on the screen. A finger on a number
  // shows its interval first, and follows the link the second time
  function glossary() {
    const links = document.querySelectorAll("[data-definition], a[data-preview]");
    if (!links.length) return;
    const tip = element("div", { id: "definition", role: "tooltip", hidden: "" });
    document.body.append(tip);
    let shown = null, touched = null;

    function place(link) {
      const at = link.getClientRects()[0];
      const within = (from, most) => Math.max(8, Math.min(from, most - 8)) + "px";
      const below = at.bottom + 14 + tip.offsetHeight <= window.innerHeight;
      tip.style.left = within(at.left, document.documentElement.clientWidth - tip.offsetWidth);
      tip.style.top = within(below ? at.bottom + 6 : at.top - tip.offsetHeight - 6, window.innerHeight - tip.offsetHeight);
    }

    function isSeen(link) {
      const there = link.dataset.preview && link.hash && document.getElementById(decodeURIComponent(link.hash.slice(1)));
      if (!there || link.pathname !== location.pathname) return false;
      const box = there.getBoundingClientRect();
      return box.top >= 0 && box.bottom <= window.innerHeight;
    }

    async function show(link) {
      if (isSeen(link)) return;
      shown = link;
      tip.innerHTML = link.dataset.definition || link.dataset.preview;
      tip.classList.toggle("preview", !link.dataset.definition);
      tip.querySelectorAll("img").forEach((one) => one.addEventListener("load", () => { if (shown === link) place(link); }));
      tip.hidden = false;
      link.setAttribute("aria-describedby", tip.id);
      place(link);
      if (!window.MathJax || !MathJax.typesetPromise) return;
      MathJax.typesetClear([tip]);
      await MathJax.typesetPromise([tip]);
      if (shown === link) place(link);
    }

    function hide() {
      tip.hidden = true;
      shown = null;
    }

    links.forEach((link) => {
      ["pointerenter", "focus", "click"].forEach((kind) => link.addEventListener(kind, () => show(link)));
      ["pointerleave", "blur"].forEach((kind) => link.addEventListener(kind, hide));
      link.addEventListener("keydown", (event) => { if (event.key === "Enter") show(link); });
      if (!link.matches("a.measured")) return;
      link.addEventListener("click", (event) => {
        if (event.pointerType === "touch" && touched !== link) event.preventDefault();
        touched = link;
      });
      link.addEventListener("blur", () => { touched = null; });
    });
    window.addEventListener("scroll", () => { if (shown) place(shown); }, { passive: true });
    ["wheel", "touchmove"].forEach((kind) => window.addEventListener(kind, hide, { passive: true }));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  }

  // from a page on disk a browser opens a notebook as text, and does not save it: there it comes as a script
  function notebooks() {
    if (location.protocol !== "file:") return;
    document.querySelectorAll('a[download][href$=".ipynb"]').forEach((link) => {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const script = element("script", { src: link.href + ".js" });
        script.addEventListener("load", () => {
          const file = URL.createObjectURL(new Blob([window.BOOK_NOTEBOOK], { type: "application/x-ipynb+json" }));
          element("a", { href: file, download: link.href.split("/").pop() }).click();
          script.remove();
        });
        document.head.append(script);
      });
    });
  }

  // what computes in the page, where a placeholder asks for it: `<div class="explore" data-name="stripe">`
  const here = document.currentScript && document.currentScript.src;
  function explorables() {
    // what any of them uses comes first: `data-uses="stripe live"`
    const all = [...document.querySelectorAll(".explore[data-name]")], uses = all.flatMap((one) => (one.dataset.uses || "").split(" "));
    const names = [...new Set([...uses, ...all.map((one) => one.dataset.name)].filter(Boolean))];
    if (names.length) window.addEventListener("hashchange", () => { if (location.hash.includes("?")) location.reload(); }); // another link to this page
    (names.length ? ["kit", "judge", "share", ...names] : []).forEach((name) => {
      const script = element("script", { src: new URL("explore/" + name + ".js", here).href });
      script.async = false; // in this order
      document.head.append(script);
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    explorables();
    codeSwitch();
    guess();
    printedTitle();
    intervals();
    reachable();
    ["load", "resize"].forEach((kind) => window.addEventListener(kind, reachable)); // fonts and scripts widen tables
    toCode();
    knobs();
    ledger();
    focused();
    graphs();
    equations();
    snippets();
    glossary();
    notebooks();
    setTimeout(marked, 100); // Sphinx marks them after the page is there
  });
})();
