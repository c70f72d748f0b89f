/* engine_cache.h - remembers for a day which engine worked with which options, in a file of a few lines in
 * the cache folder. The file may be deleted at any time. */
#ifndef ENGINE_ENGINE_CACHE_H
#define ENGINE_ENGINE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct engine_options;

struct engine_cached { /* owns its strings; NULL: not known */
    char *engine, *python, *packages;
    char *runtime; /* podman: the fallback runtime that worked */
    bool stdio;    /* the socket did not work, but attached pipes did */
    int64_t time;  /* when it was stored; 0: nothing was loaded */
};

bool engine_cache_load(const struct engine_options *o, struct engine_cached *m);
void engine_cache_store(const struct engine_options *o, const struct engine_cached *m);
bool engine_cache_knows(const char *engine); /* has it ever worked here, with any options? */
void engine_cache_release(struct engine_cached *m);

/* The packages worth naming to a model, by their names on PyPI. The guest looks for the same ones (its
 * argument "packages="). */
#define ENGINE_PACKAGES \
    "numpy,pandas,matplotlib,scipy,scikit-learn,sympy,openpyxl,pillow,statsmodels,seaborn,networkx"

/* bwrap shows the host's /usr inside: find the version of its Python and which of ENGINE_PACKAGES it has,
 * without starting anything. root is "" except in tests. */
bool engine_host_python(const char *root, char **python, char **packages);

#endif
