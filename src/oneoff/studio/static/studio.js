/* What makes the pages pleasant; without it every form still works.

   form[data-live="ID"]    whatever is changed is sent (to data-live-at, or where the form goes), and the answer is put into #ID
   form[data-swap="ID"]    sent without leaving the page; the answer takes the place of #ID, and focus goes to its [data-focus]
   [data-poll="URL"]       asked again every data-every ms, and replaced by the answer, as long as that polls, too
   [data-say]              read out when such an answer brings it
   [data-at-once]          a control whose form is sent as soon as it is changed
   form[data-sure="..."]   asks first
   [data-drop]             a place to drop a file on; it has an input of type file in it
   [data-slides="ID"]      a range that moves the number in #ID along data-stops; shown by the script, as it needs it
   [data-enter]            a field with a button of its own, which Enter presses
   [data-secret]           a control whose text the browser is not to keep

   What is typed and not sent yet is kept by the tab, so that a reload or a look elsewhere loses none of it: the text of text
   fields, and which choices are made, never their labels, so that no value of a table is kept by the browser. It is put
   back only where the page still says what it said then.
   Forms are sent from here, so that no address of the history is an answer to a form: reload and back ask nothing then. The
   header X-Studio says who asks: "fragment" for a part of a page, "form" for a page or, in X-Studio-Go, where to go. */
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
  scrollTo(0, 0);
  document.getElementById("main").focus({ preventScroll: true });
  begin(document);
};

const goTo = (address) => {
  const target = new URL(address, location.href);
  const here = target.pathname === location.pathname && target.search === location.search;
  if (!here) return location.assign(target);
  history.replaceState(null, "", target);
  location.reload();
};

const deliver = async (form, submitter) => {
  const address = submitter?.getAttribute("formaction") || form.action;
  const answer = await fetch(address, { ...sent(form, submitter), headers: { "X-Studio": "form" }, credentials: "same-origin" });
  const to = answer.headers.get("X-Studio-Go");
  const html = await answer.text();
  if (answer.ok) forget(form); // from now on the page knows it
  if (to) goTo(to);
  else show(html);
};

const say = (text) => {
  const live = document.getElementById("live");
  if (live && text && live.textContent !== text) live.textContent = text;
};

const look = (each) => { // also at what is no control, and was made anew
  if (each.tabIndex < 0) each.tabIndex = -1;
  each.focus();
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
  if (held && !document.activeElement.id && document.getElementById(held)) look(document.getElementById(held));
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

const ticks = (control) => control.type === "checkbox" || control.type === "radio";
const marks = (control, how) => [...control.options].map((each, n) => (each[how] ? n : "")).join(".");
const stands = (control) =>
  ticks(control) ? String(control.checked) : control.options ? marks(control, "selected") : control.value;
const stood = (control) => {
  if (ticks(control)) return String(control.defaultChecked);
  if (!control.options) return control.defaultValue;
  const told = marks(control, "defaultSelected");
  return control.multiple || /\d/.test(told) ? told : `0${told}`; // without a word the first is chosen
};
const digest = (text) => [...text].reduce((sum, letter) => (Math.imul(sum, 31) + letter.codePointAt(0)) | 0, 7);
const keepable = (form) => [...form.elements].filter((each) =>
  each.name && !each.matches("[type=file], [type=hidden], [type=range], button, fieldset, [data-secret]"));
const named = (form) => { // its controls by a name that says nothing of the table
  const seen = new Map();
  return keepable(form).map((each) => {
    seen.set(each.name, (seen.get(each.name) || 0) + 1);
    return [each, `${digest(each.name)} ${seen.get(each.name)}`];
  });
};
const shelf = (form) => {
  const alike = [...document.forms].filter((each) => each.getAttribute("action") === form.getAttribute("action"));
  return `typed ${location.pathname}${location.search} ${form.getAttribute("action")} ${alike.indexOf(form)}`;
};
const kept = (form) => { try { return JSON.parse(sessionStorage.getItem(shelf(form))); } catch { return null; } };
const forget = (form) => { try { sessionStorage.removeItem(shelf(form)); } catch { /* there is no shelf */ } };
const keep = (form) => { // what is on the shelf of controls that are still to come stays there
  const all = kept(form) || {};
  named(form).forEach(([each, name]) => {
    const first = each.dataset.first ?? digest(stood(each));
    if (stands(each) !== stood(each) || each.dataset.first) all[name] = [Number(first), stands(each)];
    else delete all[name];
  });
  try { sessionStorage.setItem(shelf(form), JSON.stringify(all)); } catch { /* a full shelf keeps no more */ }
};

const putBack = (form) => {
  const all = kept(form);
  if (all) named(form).filter(([each]) => !each.dataset.back).forEach(([each, name]) => {
    const [before, now] = all[name] || [];
    each.dataset.back = "yes";
    if (now === stood(each)) each.dataset.first = before; // a refusal shows what was typed, and the next reload does not
    if (before !== digest(stood(each)) || now === stands(each)) return;
    if (ticks(each)) each.checked = now === "true";
    else if (each.options) [...each.options].forEach((one, n) => { one.selected = now.split(".")[n] === String(n); });
    else each.value = now;
    each.dispatchEvent(new Event("input", { bubbles: true }));
  });
  keepable(form).filter((each) => stands(each) !== stood(each)).forEach((each) => { // the browser puts some back by itself
    for (let place = each.closest("details"); place; place = place.parentElement.closest("details")) place.open = true;
  });
};

const swap = async (form, submitter) => {
  const html = await ask(submitter?.getAttribute("formaction") || form.action, sent(form, submitter));
  const place = document.getElementById(form.dataset.swap);
  if (html === null || !place) return;
  const root = put(place, html, true);
  const next = root && (root.matches("[data-focus]") ? root : root.querySelector("[data-focus]"));
  if (next) look(next);
};

const begin = (root) => {
  const once = (selector, what) => root.querySelectorAll(selector).forEach((each) => {
    if (!each.dataset.begun) { each.dataset.begun = "yes"; what(each); }
  });
  once("[data-poll]", poll);
  once("[data-drop]", dropping);
  once("[data-slides]", sliding);
  [...document.forms].forEach(putBack);
  const wrong = document.getElementById("complaints");
  if (wrong && !wrong.dataset.seen) { wrong.dataset.seen = "yes"; wrong.focus(); }
};

document.addEventListener("input", (event) => {
  if (event.target.dataset.slides) slide(event.target);
  const form = event.target.form;
  if (form && form.dataset.live) live(form);
  if (form) keep(form);
});
document.addEventListener("keydown", (event) => {
  const own = event.key === "Enter" && event.target.matches("input") && event.target.closest("[data-enter]");
  if (own) { event.preventDefault(); own.querySelector("button").click(); }
});
document.addEventListener("change", (event) => {
  if (event.target.dataset.atOnce !== undefined && event.target.form) event.target.form.requestSubmit();
});
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.alone) return; // the browser sends it
  if (form.dataset.sending) return event.preventDefault();
  if (form.dataset.sure && !confirm(form.dataset.sure)) return event.preventDefault();
  if (form.dataset.busy) say(form.dataset.busy);
  if (form.method === "get") return forget(form);
  event.preventDefault();
  form.dataset.sending = "yes";
  try {
    await (form.dataset.swap ? swap(form, event.submitter) : deliver(form, event.submitter));
  } catch {
    form.dataset.alone = "yes"; // whose browser says what is wrong with the connection
    form.requestSubmit(event.submitter);
  }
  delete form.dataset.sending;
});
begin(document);
