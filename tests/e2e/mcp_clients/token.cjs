// The suite of conformance tests has no option for a token: every request that it makes gets one here (node --require token.cjs).
// UNDICI is the folder of one HTTP client that it uses; the other is node's own.
const { Agent, setGlobalDispatcher } = require(process.env.UNDICI);
const http = require('node:http');
const token = 'Bearer ' + process.env.TOKEN;
const withToken = (headers) => (Array.isArray(headers) ? [...headers, 'authorization', token] : { ...headers, authorization: token });
setGlobalDispatcher(new Agent().compose((dispatch) => (options, handler) => dispatch({ ...options, headers: withToken(options.headers) }, handler)));
const request = http.request;
http.request = (...words) => {
  const made = request(...words);
  made.setHeader('Authorization', token);
  return made;
};
