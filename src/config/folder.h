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

/* e goes where .env says. The first two are errors: err says how to allow it, or that it was interrupted. */
enum folder_answer folder_verdict(struct config *c, const struct endpoint *e, struct error *err);
/* Nothing of .env has a say about endpoint, key and model any more. */
void folder_leave_out(struct config *c);
/* What a folder decides must not be silent. */
void folder_tell(struct config *c, const struct endpoint *e);

#endif
