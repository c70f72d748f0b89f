/* discord_post.h - posts an answer on Discord: cut into messages, with the files shared among them. What a
 * killed process has posted of it is left out. Meanwhile the part of the question (bot_service_part) is ours;
 * then it is the service again, and the bot is told.
 */
#ifndef BOT_DISCORD_POST_H
#define BOT_DISCORD_POST_H

struct bot_question;
struct json;
struct rest;

struct discord_poster { /* borrowed */
    struct rest *rest;
    const char *self; /* our id */
    void *service;
};

void discord_post(const struct discord_poster *by, struct bot_question *qn, const char *text,
                  const struct json *files);
void discord_post_drop(struct bot_question *qn); /* its requests have been dropped */

#endif
