/* markdown_tags.h - the tags of HTML that Markdown of a model has. Private to src/markdown. */
#ifndef MARKDOWN_MARKDOWN_TAGS_H
#define MARKDOWN_MARKDOWN_TAGS_H

#include <stdbool.h>
#include <stddef.h>

enum tag_does { TAG_NOTHING, TAG_BREAK, TAG_STYLE, TAG_SUPERSCRIPT, TAG_SUBSCRIPT };

struct markdown_tag {
    const char *name;
    enum tag_does does;
    unsigned style; /* of flow.h */
};

/* What the tag is whose text begins behind its "<"; NULL: not one of them. */
const struct markdown_tag *markdown_tag(const char *s, size_t len);

#endif
