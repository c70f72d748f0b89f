/* services.c - the chat services that there are, a row each. */
#include <string.h>

#include "bot/bot.h"
#include "bot/discord.h"

const struct chat_service *const chat_services[] = {&chat_discord, NULL};

const struct chat_service *chat_service_find(const char *name)
{
    for (size_t i = 0; chat_services[i]; i++)
        if (!strcmp(chat_services[i]->name, name))
            return chat_services[i];
    return NULL;
}
