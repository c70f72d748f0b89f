/* foreign.h - the routes of other people's clients (Dify, E2B, SandboxFusion, AgentCube), which are data:
 * foreign.json, a list of APIs, each with
 *
 *     failure   template (json/template.h) of an error's body: scope status, code, detail
 *     gone      status for a sandbox that has expired (410)
 *     basic     true: where ours has the same path, only for a token sent as Basic (ROUTE_BASIC)
 *     headers   names of the headers that the templates use, as $header.NAME
 *     routes    rows:
 *         route, operation, summary, body   as in struct route; "METHOD PATH"; body: a JSON schema
 *         instead   list of [template, template]: if the first is truthy, the second is the answer
 *         sandbox   "once": one of its own, ended with the answer; "new": a new one, kept; or a template of
 *                   the id of one that is there
 *         within    template of the id of another sandbox, which must be there: sandbox is within that one
 *                   (within.h), or that one itself
 *         ends      true: end the sandbox, and those within it
 *         steps     what its runner is asked, in this order: do (an operation), arguments (a template), each
 *                   (a template: once for each of its elements, as $item, $key, $index), when (a template:
 *                   not if this is not truthy), result (a template of what is kept; $result, $arguments),
 *                   keep (its name in $steps; with each a list), may_fail (an error leaves it out)
 *         then one of
 *         answer    template of the body; none: no body
 *         file      template of a file: {name, path}
 *         lines     template of a list: a stream of JSON lines, these at its end, and meanwhile
 *         events    by an event's name, the template of the line that it becomes ($event)
 *         broken    template of the last line where the sandbox is lost on the way ($detail)
 *         status    of the answer (200)
 *
 * Scope: body, path, query, header, sandbox (the id), within (the ids of those within the same one), steps,
 * now_ns. {"$file": PATH} is the file's content in base64. What a template gives as arguments is held
 * against the operation's schema.
 *
 * So a new client is new data; only one whose token comes in a header of its own needs that header's name in
 * admit.c as well, and one that sends no JSON, or has a protocol of its own, does not fit in here.
 */
#ifndef SERVER_FOREIGN_H
#define SERVER_FOREIGN_H

struct server;

void foreign_routes(struct server *s);

#endif
