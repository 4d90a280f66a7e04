/* What makes the pages pleasant; without it every form still works.

   form[data-live="ID"]    whatever is changed is sent (to data-live-at, or where the form goes), and the answer is put into #ID
   form[data-swap="ID"]    sent without leaving the page; the answer takes the place of #ID, and focus goes to its [data-focus]
   [data-poll="URL"]       asked again every data-every ms, and replaced by the answer, as long as that polls, too
   [data-say]              read out when such an answer brings it
   [data-at-once]          a control whose form is sent as soon as it is changed
   form[data-sure="..."]   asks first
   [data-drop]             a place to drop a file on; it has an input of type file in it
   [data-slides="ID"]      a range that moves the number in #ID along data-stops; shown by the script, as it needs it
   All is asked from here with the header X-Studio: fragment. */
"use strict";

const ask = async (address, options = {}) => {
  const answer = await fetch(address, { ...options, headers: { "X-Studio": "fragment" }, credentials: "same-origin" });
  const html = await answer.text();
  if (/^\s*<!doctype/i.test(html)) { // a whole page: go there
    if (answer.redirected || !options.method) location.assign(answer.url);
    else show(html);
    return null;
  }
  return html;
};

const show = (html) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  document.title = page.title;
  document.body.replaceWith(page.body);
  begin(document);
  scrollTo(0, 0);
};

const say = (text) => {
  const live = document.getElementById("live");
  if (live && text && live.textContent !== text) live.textContent = text;
};

const put = (place, html, whole) => {
  const held = document.activeElement && document.activeElement.id;
  const made = document.createElement("template");
  made.innerHTML = html;
  const fresh = made.content.firstElementChild;
  if (whole) place.replaceWith(made.content);
  else place.replaceChildren(made.content);
  const root = whole ? fresh : place;
  if (!root) return null;
  begin(root.parentElement || document);
  root.querySelectorAll("[data-say]").forEach((each) => say(each.dataset.say));
  if (root.dataset.say) say(root.dataset.say);
  if (held && !document.activeElement.id && document.getElementById(held)) document.getElementById(held).focus();
  return root;
};

const sent = (form, submitter) => {
  const data = new FormData(form);
  if (submitter && submitter.name) data.append(submitter.name, submitter.value);
  return { method: "POST", body: data };
};

const asks = new WeakMap(); // form -> the latest of its questions
const live = (form) => {
  clearTimeout(asks.get(form)?.timer);
  const mine = {};
  mine.timer = setTimeout(async () => {
    const html = await ask(form.dataset.liveAt || form.action, sent(form)).catch(() => null);
    const place = document.getElementById(form.dataset.live);
    if (html !== null && place && asks.get(form) === mine) put(place, html, false);
  }, 200);
  asks.set(form, mine);
};

const poll = (place) => {
  setTimeout(async () => {
    if (!place.isConnected) return;
    const html = await ask(place.dataset.poll).catch(() => undefined);
    if (html === undefined) poll(place); // perhaps the next time
    else if (html !== null && place.isConnected) put(place, html, true);
  }, Number(place.dataset.every) || 1000);
};

const stopsOf = (range) => range.dataset.stops.split("|");
const worth = (text) => { const [top, bottom] = text.split("/"); return Number(top) / Number(bottom || 1); };

const slide = (range) => { // from the range to the number
  const number = document.getElementById(range.dataset.slides);
  number.value = stopsOf(range)[range.value];
  range.setAttribute("aria-valuetext", number.value);
};

const sliding = (range) => { // from the number to the range, whose nearest stop is taken
  const number = document.getElementById(range.dataset.slides);
  const follow = () => {
    const far = stopsOf(range).map((stop) => Math.abs(Math.log(worth(stop) / worth(number.value))));
    if (far.every(Number.isFinite)) range.value = far.indexOf(Math.min(...far));
    range.setAttribute("aria-valuetext", number.value);
  };
  number.addEventListener("input", follow);
  follow();
  range.closest("[hidden]")?.removeAttribute("hidden");
};

const dropping = (place) => {
  const input = place.querySelector("input[type=file]");
  place.addEventListener("dragover", (event) => { event.preventDefault(); place.classList.add("over"); });
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.form.requestSubmit();
  });
  input.addEventListener("change", () => input.files.length && input.form.requestSubmit());
};

const begin = (root) => {
  const once = (selector, what) => root.querySelectorAll(selector).forEach((each) => {
    if (!each.dataset.begun) { each.dataset.begun = "yes"; what(each); }
  });
  once("[data-poll]", poll);
  once("[data-drop]", dropping);
  once("[data-slides]", sliding);
  const wrong = document.getElementById("complaints");
  if (wrong && !wrong.dataset.seen) { wrong.dataset.seen = "yes"; wrong.focus(); }
};

document.addEventListener("input", (event) => {
  if (event.target.dataset.slides) slide(event.target);
  const form = event.target.form;
  if (form && form.dataset.live) live(form);
});
document.addEventListener("change", (event) => {
  if (event.target.dataset.atOnce !== undefined && event.target.form) event.target.form.requestSubmit();
});
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.sure && !confirm(form.dataset.sure)) return event.preventDefault();
  if (form.dataset.busy) say(form.dataset.busy);
  if (!form.dataset.swap || form.method === "get") return;
  event.preventDefault();
  const html = await ask(event.submitter?.getAttribute("formaction") || form.action, sent(form, event.submitter)).catch(() => null);
  const place = document.getElementById(form.dataset.swap);
  if (html === null || !place) return;
  const root = put(place, html, true);
  const next = root && (root.matches("[data-focus]") ? root : root.querySelector("[data-focus]"));
  if (next) { if (next.tabIndex < 0) next.tabIndex = -1; next.focus(); }
});
begin(document);
