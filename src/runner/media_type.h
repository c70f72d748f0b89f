/* media_type.h - the media type of a file by the end of its name; the bytes are not looked at. */
#ifndef RUNNER_MEDIA_TYPE_H
#define RUNNER_MEDIA_TYPE_H

const char *media_type(const char *name); /* "application/octet-stream" where nothing is known */

#endif
