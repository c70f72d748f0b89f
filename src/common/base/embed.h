/* embed.h - compile a file into the program. Used once per file, at file scope of a .c file:
 *
 *     EMBED(providers_yaml, "config/providers.yaml")
 *     ->  const char providers_yaml[], providers_yaml_end[]
 *
 * The path is relative to the top folder, where make runs. A NUL follows the bytes, so text can be used as a
 * string. The compiler does not see the file: the Makefile names it as a prerequisite of the object.
 */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

#include <stddef.h>

#define EMBED(symbol, path)                               \
    __asm__(".pushsection .rodata\n"                      \
            ".balign 16\n"                                \
            ".globl " #symbol "\n"                        \
            ".hidden " #symbol "\n"                       \
            ".type " #symbol ", @object\n" #symbol ":\n"  \
            ".incbin \"" path "\"\n"                      \
            ".globl " #symbol "_end\n"                    \
            ".hidden " #symbol "_end\n" #symbol "_end:\n" \
            ".byte 0\n"                                   \
            ".popsection\n");                             \
    extern const char symbol[], symbol##_end[];

#define EMBED_SIZE(symbol) ((size_t)(symbol##_end - symbol))

#endif
