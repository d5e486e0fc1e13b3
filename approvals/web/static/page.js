// What the pages do besides: they stay live, count down, take keys, and take no answer
// until the screen has stood unchanged for 0.7 seconds. Everything works without it but
// the one-time link, whose code has to be pasted then.
"use strict";
(() => {
  const settle = 700;
  const $ = (q, of = document) => of.querySelector(q);
  const all = (q, of = document) => [...of.querySelectorAll(q)];

  // ask sends a form's fields and takes JSON back.
  async function ask(path, form, submitter) {
    const r = await fetch(path, { method: "POST", body: new URLSearchParams(new FormData(form, submitter)), headers: { Accept: "application/json" } });
    const text = await r.text();
    let body;
    try { body = JSON.parse(text); } catch { body = { detail: text }; }
    if (!r.ok) throw new Error(body.detail || "The sidecar refused it.");
    return body;
  }

  // A notice says what is wrong with what was just done, for some seconds or until something
  // is written. What stays wrong stands until it is right again.
  const shown = 6000;
  let lost = false; // events do not come
  let changed = false; // what is on the screen is not how it is now
  let passing = 0; // ends what is told for some seconds
  const panel = () => { const p = $(".ask > form.answer"); return p && getComputedStyle(p).position === "fixed" ? p.offsetHeight : 0; };
  function show(text, ...more) {
    const n = $("#notice");
    n.replaceChildren(text, ...more);
    n.style.bottom = panel() + 14 + "px"; // above the answer, never on it
  }
  function stand() {
    clearTimeout(passing);
    passing = 0;
    if (lost) return show("Not connected: what you see may be old.");
    if (!changed) return show("");
    const b = document.createElement("button");
    b.textContent = "Show it";
    b.onclick = () => refresh(true).catch((e) => tell("Not shown: " + e.message));
    show("This request has changed. ", b);
  }
  function tell(text) {
    clearTimeout(passing);
    passing = setTimeout(stand, shown);
    show(text);
  }
  addEventListener("input", () => { if (passing) stand(); });

  function hide(form, name, value) {
    const i = $(`input[type=hidden][name=${name}]`, form) || form.appendChild(document.createElement("input"));
    i.type = "hidden"; i.name = name; i.value = value;
  }
  async function signed(path, form, submitter) {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await ask(path, form, submitter));
    return JSON.stringify((await navigator.credentials.get({ publicKey })).toJSON());
  }
  // Passkeys: an answer that must be signed, a key that is made or admitted, a sign-in.
  async function passkey(form, submitter) {
    try {
      if (form.dataset.passkey === "new") {
        const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(await ask("/passkeys/new", form));
        hide(form, "passkey", JSON.stringify((await navigator.credentials.create({ publicKey })).toJSON()));
      } else {
        const path = form.dataset.sign || (form.dataset.passkey === "open" ? "/open/sign" : "/passkeys/sign");
        hide(form, "signature", await signed(path, form, submitter));
      }
      if (submitter && submitter.name) hide(form, submitter.name, submitter.value);
      form.submit();
    } catch (e) {
      tell("Not signed: " + e.message);
    }
  }
  addEventListener("submit", (e) => {
    const form = e.target, s = e.submitter;
    if (e.defaultPrevented) return;
    if (!form.dataset.passkey && !(form.dataset.sign && s && ["approve", "choose", "edit"].includes(s.value))) return;
    // A standing approval is looked at before it is signed.
    const always = form.querySelector("input[name=remember]:checked");
    if (always && always.value && s && s.value === "approve") return;
    e.preventDefault();
    passkey(form, s);
  });

  // Notifications: the browser subscribes at its maker's service, and the sidecar is told where.
  addEventListener("submit", async (e) => {
    const form = e.target;
    if (!form.dataset.push) return;
    e.preventDefault();
    try {
      if (!("serviceWorker" in navigator) || !("PushManager" in window)) throw new Error("This browser knows no notifications of pages. On an iPhone, add the page to the home screen first, and open it there.");
      const worker = await navigator.serviceWorker.register("/push.js");
      await navigator.serviceWorker.ready;
      const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: form.dataset.push });
      hide(form, "subscription", JSON.stringify(subscription));
      form.submit();
    } catch (err) {
      tell("Not notified: " + err.message);
    }
  });

  // A link's code stands in the fragment: it is sent once, and then gone from here.
  const door = $("#open");
  if (door) {
    const code = location.hash.slice(1);
    if (code) {
      history.replaceState(null, "", location.pathname);
      door.elements.code.value = code;
      door.submit();
      return;
    }
    // From another site a browser brings no cookie at first. Asked from here it does.
    const back = $(".door").dataset.back;
    if (back && sessionStorage.getItem("asked") !== back) {
      sessionStorage.setItem("asked", back);
      location.replace(back);
    }
    return;
  }
  sessionStorage.removeItem("asked");

  let armed = 0; // when answers are taken
  // The end of each part of the call must have been on the screen before it is approved.
  const unread = new Set();
  let eyes = null;
  const releases = (b) => ["approve", "choose"].includes(b.value);
  function enable() {
    const now = performance.now() + 5 >= armed && !changed;
    for (const b of all(".answer .buttons button")) b.disabled = !now || unread.size > 0 && releases(b);
  }
  function arm() {
    armed = performance.now() + settle;
    enable();
    setTimeout(enable, settle);
  }
  function read() {
    if (eyes) eyes.disconnect();
    unread.clear();
    const last = $(".unread");
    eyes = new IntersectionObserver((list) => {
      for (const e of list) if (e.isIntersecting) { unread.delete(e.target); eyes.unobserve(e.target); }
      if (last && !last.hidden && !unread.size) arm(); // what was scrolled to has just come up
      else enable();
      if (last) last.hidden = !unread.size;
    }, { rootMargin: `0px 0px -${panel()}px 0px` });
    for (const end of all(".call pre .l:last-child, .batch .one pre .l:last-child")) { unread.add(end); eyes.observe(end); }
  }
  const ready = () => performance.now() >= armed && !changed;

  function words(ms) {
    const s = Math.max(0, Math.floor(ms / 1000));
    if (s < 60) return s + " s";
    if (s < 3600) return Math.floor(s / 60) + " min" + (s < 600 ? " " + (s % 60) + " s" : "");
    if (s < 172800) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
    return Math.floor(s / 86400) + " days";
  }
  function tick() {
    for (const t of all("time[data-until]")) {
      const left = Date.parse(t.dataset.until) - Date.now();
      t.textContent = words(left);
      t.classList.toggle("soon", left < 60000);
    }
  }

  // fresh is the same page as it is now.
  async function fresh() {
    const r = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (r.status === 401) { location.reload(); return null; }
    return new DOMParser().parseFromString(await r.text(), "text/html");
  }

  // refresh shows the page as it is now. What somebody writes on is not taken from under
  // their hands: they are told, and ask for it.
  async function refresh(asked) {
    const live = $("[data-live]");
    if (!live) return;
    const doc = await fresh();
    if (!doc) return;
    document.title = doc.title;
    const nav = $("header nav", doc);
    if (nav) $("header nav").replaceWith(nav);
    const now = $("[data-live]", doc);
    if (!now) return;
    if (live.dataset.live === "list") {
      if (live.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) return;
      const at = document.activeElement && document.activeElement.getAttribute("href");
      const open = all("details[open] > summary", live).map((s) => s.textContent);
      live.replaceWith(now);
      for (const d of all("details", now)) if (open.includes($("summary", d).textContent)) d.open = true;
      if (at) { const same = all("a", now).find((a) => a.getAttribute("href") === at); if (same) same.focus(); }
    } else if (now.dataset.state !== live.dataset.state) {
      const typed = all("textarea, input:not([type=hidden])", live).some((f) => f.type === "checkbox" || f.type === "radio" ? f.checked !== f.defaultChecked : f.value !== f.defaultValue);
      if (!asked && typed && now.dataset.state.startsWith("pending")) {
        changed = true;
        enable();
        stand();
        return;
      }
      // Words stay. What makes sure that the call was read is done anew.
      for (const f of all("textarea, input[name=artifacts]", live)) { const same = $(`[name="${f.name}"]`, now); if (same) same.value = f.value; }
      live.replaceWith(now);
      changed = false;
      stand();
      read();
      arm();
    }
    tick();
  }

  let waits = 0;
  function soon() { clearTimeout(waits); waits = setTimeout(() => refresh().catch(() => {}), 120); }
  function listen() {
    if (!$("[data-live]")) return;
    const es = new EventSource("/live");
    for (const type of ["message", "approval.requested", "approval.voted", "approval.decided", "approval.claimed", "approval.unclaimed", "approval.delegated", "approval.deferred", "approval.left",
      "approval.extended", "approval.escalated", "config.changed", "passkey.changed", "agent.paused", "agent.resumed", "agent.stopped", "session.changed", "message.sent", "finding"]) es.addEventListener(type, soon);
    es.onopen = () => { if (lost) { lost = false; stand(); soon(); } };
    es.onerror = () => { lost = true; stand(); };
    addEventListener("pagehide", () => es.close());
  }

  function move(by) {
    const rows = all("a.open");
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    rows[Math.min(Math.max(at + by, 0), rows.length - 1)].focus();
  }
  const press = (value) => $(`.answer button[name=decision][value=${value}]`);
  const acts = {
    j: () => move(1),
    k: () => move(-1),
    a: () => {
      const b = press("approve"), form = b && b.form;
      if (!b || !ready()) return;
      if (unread.size) { tell("Not all of the call was shown yet: scroll to its end."); return; }
      // What is of high risk takes a second key: Enter on the button.
      if (form.elements.typed) form.elements.typed.focus();
      else if (["low", "medium"].includes(form.dataset.risk)) form.requestSubmit(b);
      else {
        if (form.elements.sure) form.elements.sure.checked = true;
        b.focus();
      }
    },
    d: () => { const b = press("deny"); if (b && ready()) b.focus(); },
    s: () => { const t = $("#text"); if (t && press("steer")) t.focus(); },
    e: () => { const a = $('.side a[href$="/edit"]'); if (a) a.click(); },
    c: () => { const b = $('button[name="claim"]'); if (b) b.click(); },
    z: () => { const b = $(".off button"); if (b) b.click(); },
    "/": () => { const d = $(".filters"); if (d) { d.open = true; $("input", d).focus(); } },
    Escape: () => { if ($(".ask")) location.href = "/"; },
  };
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.matches("input:not([type=checkbox], [type=radio]), textarea, select")) { if (e.key === "Escape") e.target.blur(); return; }
    const act = acts[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  addEventListener("submit", (e) => {
    if (!e.target.matches(".answer, .batch")) return;
    if (!ready() || unread.size && e.submitter && releases(e.submitter)) { e.preventDefault(); return; }
    if (e.submitter && ["steer", "ask"].includes(e.submitter.value) && !e.target.elements.text.value.trim()) {
      e.preventDefault();
      tell(e.submitter.value === "ask" ? "Write your question." : "Write what the agent is to do instead.");
      e.target.elements.text.focus();
    }
  }, true); // before the form is signed
  addEventListener("pageshow", () => { changed = false; stand(); arm(); });
  tick();
  setInterval(tick, 1000);
  read();
  arm();
  listen();
})();
