/* discord.h - the chat service Discord, a row of chat_services (bot.h). */
#ifndef BOT_DISCORD_H
#define BOT_DISCORD_H

struct chat_service;
extern const struct chat_service chat_discord;

#endif
