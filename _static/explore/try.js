// Test it yourself: a claim measured in the page on training sets of the reader, judged by the book's rule against the band that was
// accepted before, beside the book's own number. Addresses of others add theirs: `#try-A.Fig2-feature?seeds=1-6`.
(function (explore) {
  "use strict";
  if (typeof document === "undefined") return;
  const { element, panel, number, still, judge } = explore, FIRST = 6;
  const ends = (words) => words.split(" ").map((one) => (one === "" ? NaN : parseFloat(one.replace("inf", "Infinity"))));
  const written = (value) => number(value).replace("-", "−");
  const declared = (value) => String(value).replace("-", "−"); // as it was written down, to the last digit

  function band([from, to]) {
    if (!Number.isFinite(to)) return `at least ${declared(from)}`;
    return Number.isFinite(from) ? `${declared(from)} to ${declared(to)}` : `at most ${declared(to)}`;
  }

  // an estimate to two digits of the width of its interval
  function found({ n, value, low, high }) {
    if (n < judge.FEWEST) return `${written(value)}, from ${n} training set${n > 1 ? "s" : ""}`;
    const places = Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(high - low)))), tiny = Math.abs(value) < 1e-3 && high - low < 1e-4;
    const round = (one) => (tiny ? written(one) : one.toFixed(places).replace("-", "−"));
    return `${round(value)}, 95 % interval ${round(low)} to ${round(high)}, from ${n} training sets`;
  }

  function open(root) {
    const about = explore.live?.[root.dataset.claim];
    if (!about) return;
    const accept = ends(root.dataset.accept), corrected = root.dataset.corrected ? ends(root.dataset.corrected) : null, rival = parseFloat(root.dataset.rival);
    const done = new Map(), estimate = judge[about.kind], view = panel({ title: "its number on each training set; dashed: accepted", alt: "One dot a training set, with the accepted band.", wide: 0.36 });
    let wanted = [], running = false, next = 1 + Math.floor((judge.LAST - 1000) * Math.random());
    const button = (words, act) => {
      const made = element("button", { type: "button" }, words);
      made.addEventListener("click", act);
      return made;
    };
    const begin = button("Test it yourself", () => { more(FIRST); said.focus({ preventScroll: true }); }), again = button("One more", () => more(1));
    const others = explore.others(() => ({ id: root.id, known: new Set([...done.keys(), ...wanted]) }), (seeds) => { wanted.push(...seeds); start(); });
    const said = element("p", { class: "said", "aria-live": "polite", tabindex: "-1" }), card = element("div", { class: "card" });
    const shown = element("div", { hidden: "" }, element("div", { class: "panels one" }, view.box), said, card,
      element("div", { class: "knobs buttons" }, again, ...others), explore.share(root));
    const here = element("small", {}, about.here);
    root.append(element("div", { class: "live" }, element("div", { class: "buttons" }, begin, here), shown));
    root.classList.add("is-live");

    function more(count) {
      for (let i = 0; i < count; i++) wanted.push(next++);
      start();
    }

    function start() {
      wanted = wanted.filter((seed) => !done.has(seed));
      if (running || !wanted.length) return;
      shown.hidden = false;
      begin.hidden = running = true;
      const seed = wanted.shift(), it = about.one(seed);
      said.textContent = `Computing, ${done.size + 1} of ${done.size + 1 + wanted.length} …`;
      (function turn() {
        const end = performance.now() + (still.matches ? 60 : 20);
        let step = { done: false };
        while (!step.done && performance.now() < end) step = it.next();
        if (!step.done) return setTimeout(() => requestAnimationFrame(turn), 4);
        running = false;
        done.set(seed, step.value);
        tell();
        start();
      })();
    }

    function measured() {
      const own = estimate([...done.values()]);
      return about.kind === "ratio" ? { ...own, low: Math.max(0, own.low) } : own;
    }

    function tell() {
      paint();
      if (wanted.length) return;
      const own = measured(), word = judge.verdict(own, accept, corrected);
      said.textContent = `You: ${found(own)}.`;
      card.className = "card " + word.replace(" ", "-");
      card.replaceChildren(element("b", {}, judge.MARKS[word]), ` ${root.dataset.short || ""}. Accepted: ${band(accept)}`
        + (corrected ? `; corrected: ${band(corrected)}` : "") + (Number.isFinite(rival) ? `; counter-hypothesis ${declared(rival)}` : "")
        + (root.dataset.ours ? `. This book: ${root.dataset.ours}` : "") + ". "
        + (own.n < judge.FEWEST ? `A verdict needs ${judge.FEWEST} training sets. ` : ""));
      if (root.id) explore.keep(root, judge.listed(done.keys()));
    }

    function paint() {
      const drawn = view.fresh(), all = [...done.values()], bands = [...accept, ...(corrected || []), rival].filter(Number.isFinite);
      let low = Math.min(...all, ...bands), high = Math.max(...all, ...bands);
      const room = 0.12 * (high - low || Math.abs(high) || 1), n = Math.max(10, all.length + 1);
      [low, high] = [low - room, high + room];
      const ticks = [low + room, (low + high) / 2, high - room].map((value) => [value, declared(+value.toPrecision(2))]);
      const axes = explore.plot(drawn, { from: 0, to: n, ticks: explore.judge.counts(n), label: "training sets" }, { from: low, to: high, ticks });
      accept.filter(Number.isFinite).forEach((value) => axes.line([[0, value], [n, value]], drawn.green, [6, 4]));
      if (corrected) corrected.filter(Number.isFinite).forEach((value) => axes.line([[0, value], [n, value]], drawn.minus, [6, 4]));
      if (Number.isFinite(rival)) axes.line([[0, rival], [n, rival]], drawn.faint, [2, 3]);
      if (all.length >= judge.FEWEST) {
        const own = measured();
        [own.low, own.value, own.high].forEach((value, k) => axes.line([[0, value], [all.length, value]], drawn.pink, k === 1 ? [] : [3, 3]));
      }
      all.forEach((value, i) => axes.dot(i + 1, value, 4, drawn.pink));
    }

    new MutationObserver(() => shown.hidden || paint()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    window.addEventListener("resize", () => shown.hidden || paint());
    const given = judge.asked(location.hash, root.id);
    if (!given) return;
    for (let fold = root.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    const seek = () => root.scrollIntoView();
    seek();
    window.addEventListener("load", seek); // what stands above has its height by then, but for formulas
    setTimeout(seek, 1500);
    wanted = judge.seedsIn(given);
    start();
  }

  document.querySelectorAll('.explore[data-name="try"]').forEach(open);
})(globalThis.Explore = globalThis.Explore || {});
