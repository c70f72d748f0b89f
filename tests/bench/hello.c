/* hello.c - the floor for start-up: a program that does nothing, linked to the libraries sandpiper is linked
 * to. */
#include <stdio.h>

int main(void)
{
    puts("hello");
    return 0;
}
