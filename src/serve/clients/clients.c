/* clients.c - a line for each of other people's clients. */
#include "clients/clients.h"

#include "clients/client_call.h"

void client_routes(struct server *s)
{
    dify_routes(s);
    e2b_routes(s);
    fusion_routes(s);
    agentcube_routes(s);
    librechat_routes(s);
}
