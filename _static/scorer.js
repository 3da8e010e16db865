// The search shows the story first: chapters, then other pages, then the API.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    score + (page.startsWith("chapters/") ? 200 : page.startsWith("book/api") ? 0 : 100),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
