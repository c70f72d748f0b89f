/* quoting.h - names of files as people type and paste them: a backslash takes the meaning from the character
 * behind it, and so do single or double quotes from what stands between them. A quote that is never closed
 * stands for itself.
 */
#ifndef BASE_QUOTING_H
#define BASE_QUOTING_H

#define QUOTING_CHARACTERS " \t\n\\\"'"

/* A word that name_unquote() reads as name. quote: the quote that the user has opened, '"' or '\'', which is
 * not part of the result; 0: none. The caller frees. */
char *name_quote(const char *name, char quote);
char *name_unquote(const char *text); /* the caller frees */
/* The path that was meant: text as it is, if that exists, otherwise unquoted. "~/" is the home folder. The
 * caller frees. */
char *name_path(const char *text);

#endif
