/* folder.h - asks the user whether the .env of this folder may set where questions go. Somebody else may have
 * written it, and a question carries the user's data.
 *
 * The user is asked once (by config.ask). The answer is stored with the path and the digest of the file in
 * $XDG_STATE_HOME/sandpiper/folders: one line per file, "allow|deny DIGEST PATH", newest first.
 */
#ifndef CONFIG_FOLDER_H
#define CONFIG_FOLDER_H

struct config;
struct endpoint;
struct error;

enum folder_answer {
    FOLDER_NOBODY, /* there is nobody to ask */
    FOLDER_INTERRUPTED,
    FOLDER_DENIED,
    FOLDER_ALLOWED
};

/* .env decides where e sends questions: may it? FOLDER_NOBODY and FOLDER_INTERRUPTED are errors; err says how
 * to allow it, or that the question was interrupted. */
enum folder_answer folder_verdict(struct config *c, const struct endpoint *e, struct error *err);
/* Forget what .env says of endpoint, key and model. */
void folder_leave_out(struct config *c);
/* Tell the user what .env has decided: in c->said, or among c->notices. */
void folder_tell(struct config *c, const struct endpoint *e);

#endif
