// Makes pages a little better: local times, uploads in chunks that resume. Without it, all of them work as well.
(() => {
  const tell = (root) => {
    for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
      const when = new Date(time.dateTime);
      if (Number.isNaN(when.getTime())) continue;
      time.title = when.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
      if (when.getTimezoneOffset() === 0) continue;
      const here = document.createElement("small");
      here.textContent = " (" + when.toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }) + " here)";
      time.append(here);
    }
  };
  tell(document);
  document.addEventListener("htmx:afterSettle", () => tell(document));
  document.addEventListener("htmx:beforeSwap", (event) => {  // a page that cannot come leaves what is there
    const busy = document.activeElement && event.detail.target.contains(document.activeElement);
    if (event.detail.xhr.status !== 200 || (busy && event.detail.target.id === "queue")) event.detail.shouldSwap = false;
  });

  const form = document.querySelector("form[data-upload]");
  if (!form || !window.crypto || !crypto.subtle) return;
  const told = form.querySelector("output"), bar = form.querySelector("progress"), button = form.querySelector("button");
  const headers = { "X-CSRF-Token": form.elements.csrf.value };
  const chunk = Number(form.dataset.chunk), pause = (ms) => new Promise((then) => setTimeout(then, ms));
  const hex = (bytes) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, "0")).join("");
  const call = async (path, method, body, more = {}) => {
    for (let wait = 500; ; wait = Math.min(2 * wait, 30000)) {
      const answer = await fetch("/api/v1/uploads" + path, { method, body, headers: { ...headers, ...more } }).catch(() => null);
      if (answer && ![429, 503, 507].includes(answer.status)) return answer;
      told.textContent = "The connection broke; trying again …";
      await pause(wait);
    }
  };
  const json = { "Content-Type": "application/json" };
  const checked = async (answer) => {
    if (!answer.ok) throw new Error((await answer.json()).problems.join("\n"));
    return answer;
  };
  const send = async (file) => {
    const begin = { board: form.dataset.upload, phase: form.elements.phase.value, name: file.name.slice(-200), size: file.size };
    const upload = await (await checked(await call("", "POST", JSON.stringify(begin), json))).json();
    bar.hidden = false;
    for (let at = 0; at < file.size;) {
      const answer = await call("/" + upload.id, "PATCH", file.slice(at, at + chunk), { "Upload-Offset": String(at) });
      const found = answer.status === 409 ? await call("/" + upload.id, "HEAD") : await checked(answer);
      at = Number(found.headers.get("Upload-Offset"));
      bar.value = (100 * at) / file.size;
      told.textContent = Math.floor(bar.value) + " % sent";
    }
    const sha256 = hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
    const done = await checked(await call("/" + upload.id + "/complete", "POST", JSON.stringify({ sha256 }), json));
    location.href = "/submissions/" + (await done.json()).id;
  };
  form.addEventListener("submit", (event) => {
    const file = form.elements.file.files[0];
    if (!file || file.size > 256 * 2 ** 20) return;  // hashing takes the whole file in memory
    event.preventDefault();
    if (!file.size) {
      told.textContent = "Expected a file of predictions, found one of 0 bytes. Choose another.";
      return;
    }
    button.disabled = true;
    send(file).catch((error) => { told.textContent = error.message; button.disabled = false; });
  });
})();
