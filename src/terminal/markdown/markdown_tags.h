/* markdown_tags.h - the HTML tags that models write in Markdown. Private to markdown. */
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

/* The tag whose text begins at s, behind its "<". NULL: it is not one of them. */
const struct markdown_tag *markdown_tag(const char *s, size_t len);

#endif
