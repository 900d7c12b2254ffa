// Sends the chosen file in chunks, so that it resumes where a connection broke. Without script the form sends it whole.
(() => {
  const form = document.querySelector("form[data-upload]");
  if (!form || !window.crypto || !crypto.subtle) return;
  const told = form.querySelector("output"), headers = { "X-CSRF-Token": form.elements.csrf.value };
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
    const begin = { board: form.dataset.upload, phase: form.elements.phase.value, name: file.name, size: file.size };
    const upload = await (await checked(await call("", "POST", JSON.stringify(begin), json))).json();
    for (let at = 0; at < file.size;) {
      const answer = await call("/" + upload.id, "PATCH", file.slice(at, at + chunk), { "Upload-Offset": String(at) });
      const found = answer.status === 409 ? await call("/" + upload.id, "HEAD") : await checked(answer);
      at = Number(found.headers.get("Upload-Offset"));
      told.textContent = Math.floor((100 * at) / file.size) + " % sent";
    }
    const sha256 = hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
    const done = await checked(await call("/" + upload.id + "/complete", "POST", JSON.stringify({ sha256 }), json));
    location.href = "/submissions/" + (await done.json()).id;
  };
  form.addEventListener("submit", (event) => {
    const file = form.elements.file.files[0];
    if (!file || file.size > 256 * 2 ** 20) return;  // hashing takes the whole file in memory
    event.preventDefault();
    send(file).catch((error) => { told.textContent = error.message; });
  });
})();
