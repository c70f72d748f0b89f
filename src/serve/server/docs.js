// docs.js - the page /docs: every route of docs/routes.json, which is made of the rows that requests are checked with. Each can be tried, and copied as curl.
"use strict";
const base = new URL(".", location.href).href.replace(/\/$/, "");
const byId = id => document.getElementById(id);

function make(tag, text, parent) {
  const e = document.createElement(tag);
  e.textContent = text;
  parent.append(e);
  return e;
}

// What a first try needs: for routes whose body is somebody else's form, a whole one; otherwise a value for a member of that name.
const bodies = {
  create_chat_completion: { model: "sandpiper", messages: [{ role: "user", content: "What is the 1000th prime?" }] },
  create_response: { model: "sandpiper", input: "What is the 1000th prime?" },
  mcp: { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "docs", version: "1" } } },
};
const values = { code: "print(6 * 7)", input: "What is the 1000th prime?", filename: "a.txt", content: "words", command: "ls" };
const heads = { mcp: { Accept: "application/json, text/event-stream" } };
let sandbox = "";       // the last one that was made here

function exampleOf(o, schema) {
  if (bodies[o.operationId]) return bodies[o.operationId];
  const out = {};
  for (const name of schema.required || [])
    out[name] = name === "sandbox_id" ? sandbox || "ID" : values[name] || "";
  return out;
}

const typeOf = s => [].concat(s.type || (s.anyOf || []).map(a => a.type)).join(" or ");

function table(schema, parent) {
  const t = make("table", "", parent), needed = schema.required || [];
  for (const [name, s] of Object.entries(schema.properties || {})) {
    const row = make("tr", "", t);
    make("code", name, make("td", "", row));
    make("td", typeOf(s), row);
    make("td", [needed.includes(name) ? "required" : "", s.description || ""].filter(Boolean).join(": "), row);
  }
}

const quoted = text => "'" + text.replaceAll("'", "'\\''") + "'";

// The token is not copied: the shell has it as $TOKEN.
function curlOf(r) {
  const words = ["curl", ...(r.method === "GET" ? [] : ["-X " + r.method]), quoted(r.url)];
  if (!r.open) words.push('-H "Authorization: Bearer $TOKEN"');
  for (const [name, value] of Object.entries(r.headers)) words.push("-H " + quoted(name + ": " + value));
  if (r.body !== undefined) words.push("-d " + quoted(r.body));
  return words.join(" ");
}

async function send(r, out) {
  const began = performance.now(), headers = { ...r.headers };
  if (!r.open && byId("token").value) headers.Authorization = "Bearer " + byId("token").value;
  out.textContent = "...";
  try {
    const answer = await fetch(r.url, { method: r.method, headers, body: r.body });
    const type = answer.headers.get("Content-Type") || "", reader = answer.body.getReader(), decoder = new TextDecoder();
    const head = () => `${answer.status}, ${type || "no body"}, ${((performance.now() - began) / 1000).toFixed(2)} s\n\n`;
    let text = "";
    for (let piece; !(piece = await reader.read()).done;) {
      text += decoder.decode(piece.value, { stream: true });
      out.textContent = head() + text.slice(0, 200000);
    }
    if (type.startsWith("application/json") && text) {
      const json = JSON.parse(text);
      sandbox = json.sandbox_id || sandbox;
      text = JSON.stringify(json, null, 2);
    }
    out.textContent = head() + text.slice(0, 200000);
  } catch (e) {
    out.textContent = "No answer: " + e.message;
  }
}

function tryOut(path, method, o, schema, parent) {
  const inputs = {}, form = make("p", "", parent);
  for (const p of o.parameters || []) {
    inputs[p.name] = make("input", "", make("label", p.name + " ", form));
    if (p.name === "id") inputs[p.name].value = sandbox;
  }
  const body = schema ? make("textarea", "", parent) : null;
  if (body) {
    body.value = JSON.stringify(exampleOf(o, schema), null, 2);
    body.rows = Math.min(12, body.value.split("\n").length + 1);
    body.setAttribute("aria-label", "Body");
  }
  const request = () => ({
    method: method.toUpperCase(), open: o.security && !o.security.length,
    url: base + path.replace(/\{(\w+)\}/g, (_, name) => inputs[name] ? encodeURIComponent(inputs[name].value) : ""),
    headers: { ...(body ? { "Content-Type": "application/json" } : {}), ...heads[o.operationId] }, body: body ? body.value : undefined,
  });
  const row = make("p", "", parent), go = make("button", "Send", row), copy = make("button", "Copy as curl", row), out = make("pre", "", parent);
  out.hidden = true;
  go.onclick = () => { out.hidden = false; send(request(), out); };
  copy.onclick = async () => {
    const text = curlOf(request());
    out.hidden = false;
    out.textContent = text;
    // A page that did not come over https, nor from this machine, may not write to the clipboard: the text is there to be copied.
    copy.textContent = navigator.clipboard && await navigator.clipboard.writeText(text).then(() => true, () => false) ? "Copied" : "Copy it from below";
  };
}

function show(path, method, o, parent) {
  const one = make("details", "", parent), head = make("summary", "", one), json = "application/json";
  one.id = o.operationId;
  make("code", `${method.toUpperCase()} ${path}`, head);
  make("span", o.summary + (o.security && !o.security.length ? " (no token)" : ""), head);
  one.addEventListener("toggle", () => {
    if (!one.open || one.children.length > 1) return;
    const schema = o.requestBody && o.requestBody.content[json].schema, ok = o.responses["200"].content[json];
    if (schema && schema.properties) { make("p", "Request", one); table(schema, one); }
    if (ok && ok.schema.properties) { make("p", "Answer", one); table(ok.schema, one); }
    tryOut(path, method, o, schema, one);
  });
  if (location.hash === "#" + o.operationId) one.open = true;
}

const groups = [["Sandboxes, files, questions", o => !o["x-other-api"]], ["The APIs of others: OpenAI, MCP, and code interpreters", o => o["x-other-api"]]];

fetch("docs/routes.json").then(r => r.json()).then(api => {
  byId("note").hidden = true;
  for (const [title, fits] of groups) {
    make("h2", title, byId("routes"));
    for (const [path, methods] of Object.entries(api.paths))
      for (const [method, o] of Object.entries(methods))
        if (fits(o)) show(path, method, o, byId("routes"));
  }
});
