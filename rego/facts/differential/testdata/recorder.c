// Every fake program of the jail: adds to the file "log" beside itself how many
// arguments it has, the folder that it stands in, and the arguments, each with
// a NUL at its end. A program whose name begins with q fails. It stands in for
// the test binary, which does the same (func record), because it starts faster.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char out[1 << 16];

int main(int argc, char **argv) {
	char log[PATH_MAX + 8], cwd[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", log, PATH_MAX);
	if (n < 0 || argc < 1 || !getcwd(cwd, PATH_MAX)) return 125;
	log[n] = 0;
	char name[PATH_MAX]; // exec -a may have given it another
	strcpy(name, strrchr(log, '/') + 1);
	argv[0] = name;
	strcpy(strrchr(log, '/') + 1, "log");
	size_t at = sprintf(out, "%d%c%s", argc, 0, cwd) + 1;
	for (int i = 0; i < argc; i++) {
		size_t len = strlen(argv[i]) + 1;
		if (at + len > sizeof out) return 125;
		memcpy(out + at, argv[i], len);
		at += len;
	}
	int fd = open(log, O_WRONLY | O_APPEND);
	if (fd < 0 || write(fd, out, at) != (ssize_t)at) return 125;
	return name[0] == 'q';
}
