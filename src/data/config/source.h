/* source.h - where a value came from. The order is the order of precedence: a later one wins. */
#ifndef CONFIG_SOURCE_H
#define CONFIG_SOURCE_H

enum source_kind { SOURCE_DEFAULT, SOURCE_FILE, SOURCE_DOTENV, SOURCE_ENV, SOURCE_FLAG, SOURCE_KINDS };

struct source {
    enum source_kind kind;
    int line;         /* FILE and DOTENV */
    const char *name; /* FILE: path; DOTENV and ENV: variable; FLAG: as it was written, "--model" */
};

/* "default", "/home/x/config.yaml:3", ".env:2 OPENAI_API_KEY", "environment OPENAI_API_KEY" or "flag
 * --model". The caller frees it. */
char *source_text(const struct source *s);

#endif
