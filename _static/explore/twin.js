// Two networks learn the same points: the weights of one may turn, the other is lazy. A reader guesses first, then adds training sets,
// and gets a verdict by the book's rule, with a band that stands before the first of them. The networks are those of stripe.js.
(function (explore) {
  "use strict";
  const { draw, flow, square, error, PLANES, REACH, WIDTH, TOLERANCE, FITTED, STEPS } = explore.stripe;
  const SCALES = [1e-4, 1e3], AT = PLANES[2], SIZES = [64, 128, 256];
  const { FEWEST, LAST, MARKS, asked, seedsIn, listed } = explore.judge, ACCEPT = 1.5; // times fewer errors
  const GUESSES = [["about as many", 0.5], ["2 to 5 times fewer", 2], ["more than 5 times fewer", 5]];

  const estimate = explore.judge.ratio, verdict = (it) => explore.judge.verdict(it, [ACCEPT, Infinity]);
  explore.twin = { estimate, verdict };
  if (typeof document === "undefined") return;

  document.querySelectorAll('.explore[data-name="twin"]').forEach((root) => {
    const { element, panel, still } = explore, number = explore.number;
    const given = asked(location.hash, root.id) || "", kept = new URLSearchParams(given);
    let p = SIZES.includes(+kept.get("p")) ? +kept.get("p") : 128, guess = null, running = false, wanted = seedsIn(given);
    let done = new Map(), pair = null, next = 1 + Math.floor((LAST - 1000) * Math.random()); // errors by seed; each reader has training sets of their own
    const panels = ["its weights may turn", "lazy", "errors, lazy over turning"].map((title) => panel({ title, alt: title }));
    const button = (words, act, attributes = {}) => {
      const made = element("button", { type: "button", ...attributes }, words);
      made.addEventListener("click", () => act(made));
      return made;
    };
    const guesses = element("div", { class: "guesses", role: "group", "aria-label": "Your guess" },
      ...GUESSES.map(([words], i) => button(words, () => choose(i), { "aria-pressed": "false" })));
    const told = element("p", { class: "said", "aria-live": "polite" }), card = element("div", { class: "card" });
    const again = button("Again, with other points", () => { wanted.push(next++); run(); });
    const sizes = element("select", {}, ...SIZES.map((size) => element("option", size === p ? { selected: "" } : {}, String(size))));
    const others = explore.others(() => ({ id: root.id, p, known: new Set([...done.keys(), ...wanted]) }), (seeds) => { wanted.push(...seeds); run(); });
    const after = element("div", { hidden: "" }, element("div", { class: "panels three" }, ...panels.map((one) => one.box)), told,
      element("div", { class: "knobs buttons" }, again, element("label", {}, "points ", sizes), ...others), card, explore.share(root));
    root.prepend(element("div", { class: "live" }, guesses, after));
    root.classList.add("is-live");

    function choose(i) {
      if (guess !== null) return;
      guess = i;
      guesses.querySelectorAll("button").forEach((one, k) => { one.setAttribute("aria-pressed", k === i); one.disabled = k !== i; });
      after.hidden = false;
      if (!wanted.length) wanted.push(next++);
      run();
    }

    function run() {
      wanted = wanted.filter((seed) => !done.has(seed));
      if (running || !wanted.length) return;
      running = true;
      if (done.size > 1 && wanted.length) told.textContent = `Training on set ${done.size + 1} of ${done.size + wanted.length} …`;
      const seed = wanted.shift(), given = draw(p, WIDTH, AT, seed), size = p, one = { size, given, its: SCALES.map((alpha) => flow(given, alpha, TOLERANCE)) };
      const open = [true, true];
      pair = one;
      (function turn() {
        const end = performance.now() + (still.matches ? 60 : 12);
        while (performance.now() < end && open.some(Boolean)) {
          one.its.forEach((it, k) => { open[k] = open[k] && it.step() && it.steps < STEPS && it.left() > (1 - FITTED) * size; });
        }
        if (!still.matches && !wanted.length || !open.some(Boolean)) paint(); // many are not watched one by one
        if (open.some(Boolean)) return setTimeout(() => requestAnimationFrame(turn), 4);
        running = false;
        if (size === p) done.set(seed, one.its.map((it) => error(it, AT)));
        tell();
        run();
      })();
    }

    const ratios = () => [...done.values()].map(([turning, lazy]) => Math.max(lazy, 1e-4) / Math.max(turning, 1e-4));

    function tell() {
      paint();
      if (!done.size || wanted.length) return;
      const [turning, lazy] = [...done.values()].pop(), it = estimate(ratios()), word = verdict(it), at = GUESSES[guess];
      const right = it.value >= at[1] && it.value < (GUESSES[guess + 1] || [0, Infinity])[1];
      told.textContent = `On new points the turning network is wrong on ${number(100 * turning)} %, the lazy one on ${number(100 * lazy)} %. `
        + `You said: ${at[0]}. Measured: ${number(it.value)} times fewer${it.n >= FEWEST ? `, 95 % interval ${number(Math.max(0, it.low))} to ${number(it.high)}` : ""}, from ${it.n} training set${it.n > 1 ? "s" : ""}${right ? ": you were right" : ""}.`;
      card.className = "card " + word.replace(" ", "-");
      card.replaceChildren(element("b", {}, MARKS[word]),
        ` A network that learns features needs fewer data on the stripe (paper A, Sec. 3). Accepted, before you began: at least ${ACCEPT} times fewer errors; counter-hypothesis 1, features do not matter. `
        + (it.n < FEWEST ? `A verdict needs ${FEWEST} training sets. ` : ""));
      explore.keep(root, `p=${p}&${listed(done.keys())}&guess=${guess}`);
    }

    function paint() {
      const views = panels.map((one) => one.fresh()), X = (view, v) => view.width * (v + REACH) / (2 * REACH);
      if (pair) pair.its.forEach((it, k) => {
        const view = views[k];
        view.signs(square(it));
        for (let m = 0; m < pair.size; m++) view.dot(X(view, pair.given.x[2 * m]), X(view, -pair.given.x[2 * m + 1]), 2.6, pair.given.y[m] > 0 ? view.plus : view.minus);
        AT.forEach((z) => view.line([[X(view, z), 0], [X(view, z), view.width]], view.ink, [7, 3, 2, 3]));
      });
      const view = views[2], all = ratios(), n = Math.max(10, all.length + 1), it = all.length >= FEWEST ? estimate(all) : null;
      const axes = explore.plot(view, { from: 0, to: n, ticks: explore.judge.counts(n), label: "training sets" },
        { from: 0.5, to: 20, log: true, ticks: [0.5, 1, 2, 5, 10, 20].map((value) => [value, String(value)]) });
      axes.line([[0, ACCEPT], [n, ACCEPT]], view.green, [6, 4]);
      axes.say("accepted above", 0.3 * n, 1.16, view.green);
      axes.line([[0, 1], [n, 1]], view.faint, [2, 3]);
      if (it) [Math.max(0.1, it.low), it.value, it.high].forEach((value, k) => axes.line([[0, value], [all.length, value]], view.pink, k === 1 ? [] : [3, 3]));
      all.forEach((ratio, i) => axes.dot(i + 1, ratio, 4, view.pink));
    }

    sizes.addEventListener("change", () => { [p, done, wanted] = [+sizes.value, new Map(), [next++]]; run(); });
    new MutationObserver(() => after.hidden || paint()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    window.addEventListener("resize", () => after.hidden || paint());
    if (wanted.length && /^[012]$/.test(kept.get("guess"))) choose(+kept.get("guess"));
  });
})(globalThis.Explore = globalThis.Explore || {});
