/* clients.h - the routes of other people's clients, whose APIs are their own: Dify's code nodes, E2B,
 * SandboxFusion, AgentCube, LibreChat. Each is a file of this room, over the operations that all sandboxes
 * have (client_call.h).
 */
#ifndef CLIENTS_CLIENTS_H
#define CLIENTS_CLIENTS_H

struct server;

/* Adds them all, behind those that the server has. */
void client_routes(struct server *s);

#endif
