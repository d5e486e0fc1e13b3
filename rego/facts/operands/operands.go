// Package operands is what is known of programs as data: which of their options take
// values, what they do with the files that their operands name, and lists of programs
// that are alike. A row says no more than a manual does; what follows from it is for
// the packages shell and programs.
package operands

import (
	"strings"
	"sync"

	"github.com/holdgate/holdgate/rego/facts/collect"
)

// Use is how a program touches the files that its operands name.
type Use uint8

const (
	useNone        Use = iota
	UseRead            // all are read
	UseWrite           // all are written
	UseOutput          // all are written with what is read from standard input
	useDelete          // all are deleted
	UseCopy            // the last is written, the others are read
	UseMove            // the last is written, the others go there
	UseSkipWrite       // the first is no file, the others are written
	UseSkipRead        // the first is no file, the others are read
	UseFirstWrite      // the first is written, the others are read
	UseSecondWrite     // the second is written, the others are read
)

// A Program is what is known of a command that touches files.
type Program struct {
	Use       Use
	Valued    string // short options that take a value
	Long      string // long options that take a value
	Recursive string // short options that make it recursive; --recursive always does
	Force     string // short options that force; --force always does
	Reads     string // short options whose value is a file that it reads
	Writes    string // short options whose value is a file that it writes
	Globs     string // short options whose value says which files it reads; --include and --glob always do
	Runs      string // long options whose value is a command that it runs
	Types     string // short options whose value says which kinds of files it reads
	InPlace   string // short options that make it write the files that it reads; --inplace and --in-place always do
	Always    bool   // recursive in any case
}

// Table is the table of the common ones, by the GNU and BSD manuals.
var Table = sync.OnceValue(func() map[string]Program {
	m := map[string]Program{
		"rm":         {Use: useDelete, Recursive: "rR", Force: "f"},
		"rmdir":      {Use: useDelete},
		"unlink":     {Use: useDelete},
		"srm":        {Use: useDelete, Recursive: "rR", Force: "f"},
		"trash":      {Use: useDelete},
		"del":        {Use: useDelete},
		"rimraf":     {Use: useDelete, Always: true, Force: ""},
		"shred":      {Use: useDelete, Valued: "ns", Long: "iterations size random-source", Force: "f"},
		"wipe":       {Use: useDelete, Recursive: "r", Force: "f"},
		"mv":         {Use: UseMove, Valued: "tS", Long: "target-directory suffix", Force: "f", Writes: "t"},
		"cp":         {Use: UseCopy, Valued: "tS", Long: "target-directory suffix", Recursive: "rRa", Force: "f", Writes: "t"},
		"ln":         {Use: UseCopy, Valued: "tS", Long: "target-directory suffix", Force: "f", Writes: "t"},
		"link":       {Use: UseCopy},
		"install":    {Use: UseCopy, Valued: "gmotS", Long: "group mode owner target-directory suffix", Writes: "t"},
		"rsync":      {Use: UseCopy, Valued: "efBMT", Long: "rsh exclude include exclude-from include-from files-from filter backup-dir temp-dir log-file rsync-path port password-file"},
		"scp":        {Use: UseCopy, Valued: "cFiJloPSDX", Recursive: "r"},
		"touch":      {Use: UseWrite, Valued: "drt", Long: "date reference time"},
		"tee":        {Use: UseOutput},
		"sponge":     {Use: UseOutput},
		"mkdir":      {Use: UseWrite, Valued: "m", Long: "mode"},
		"mkfifo":     {Use: UseWrite, Valued: "m"},
		"truncate":   {Use: UseWrite, Valued: "rs", Long: "reference size"},
		"fallocate":  {Use: UseWrite, Valued: "lo", Long: "length offset"},
		"chmod":      {Use: UseSkipWrite, Recursive: "R", Force: ""},
		"chown":      {Use: UseSkipWrite, Recursive: "R"},
		"chgrp":      {Use: UseSkipWrite, Recursive: "R"},
		"chattr":     {Use: UseSkipWrite, Recursive: "R"},
		"setfacl":    {Use: UseWrite, Valued: "mxMX", Recursive: "R"},
		"xattr":      {Use: UseSkipWrite, Valued: "wd", Recursive: "r"},
		"objcopy":    {Use: UseWrite, Valued: "IOFBjRJKNLGWwX", Long: "add-section update-section dump-section input-target output-target"},
		"patchelf":   {Use: UseWrite, Long: "set-interpreter set-rpath add-rpath add-needed replace-needed set-soname output"},
		"mkfs":       {Use: UseWrite, Valued: "t"},
		"wipefs":     {Use: useDelete, Force: "f"},
		"blkdiscard": {Use: useDelete, Force: "f"},
		"fdisk":      {Use: UseWrite}, "parted": {Use: UseFirstWrite}, "sgdisk": {Use: UseWrite}, "mkswap": {Use: UseWrite},
		"split": {Use: UseSecondWrite, Valued: "abCnl", Long: "filter", Runs: "filter"},
		"gzip":  {Use: UseWrite, Valued: "S", Recursive: "r", Force: "f"}, "gunzip": {Use: UseWrite, Recursive: "r", Force: "f"},
		"bzip2": {Use: UseWrite, Force: "f"}, "xz": {Use: UseWrite, Valued: "T", Force: "f"}, "zstd": {Use: UseWrite, Valued: "o", Writes: "o"},
		"patch": {Use: UseWrite, Valued: "pidorBDFVYz", Long: "directory input output reject-file strip", Reads: "i", Writes: "dor"},
		"zip":   {Use: UseFirstWrite, Valued: "xinbt", Long: "unzip-command exclude include", Recursive: "r", Runs: "unzip-command"},
		"unzip": {Use: UseRead, Valued: "dx", Writes: "d", Force: "o"},
		"ed":    {Use: UseWrite, Valued: "p"}, "ex": {Use: UseWrite, Valued: "c"}, "nano": {Use: UseWrite},
		"grep":  {Use: UseSkipRead, Valued: "efABCmDd", Long: "regexp file after-context before-context context max-count include exclude exclude-dir", Reads: "f", Recursive: "rR"},
		"rg":    {Use: UseSkipRead, Valued: "efABCmgtTjMrE", Long: "regexp file after-context before-context context max-count glob type iglob pre pre-glob hostname-bin ignore-file", Reads: "f", Globs: "g", Types: "t", Runs: "pre hostname-bin", Always: true},
		"ag":    {Use: UseSkipRead, Valued: "ABCmGp", Globs: "G", Always: true},
		"ack":   {Use: UseSkipRead, Valued: "ABCm", Always: true},
		"jq":    {Use: UseSkipRead, Valued: "fL", Long: "arg argjson slurpfile rawfile indent", Reads: "f"},
		"yq":    {Use: UseSkipRead, Valued: "opIf", InPlace: "i"},
		"head":  {Use: UseRead, Valued: "nc", Long: "lines bytes"},
		"tail":  {Use: UseRead, Valued: "nc", Long: "lines bytes pid"},
		"sort":  {Use: UseRead, Valued: "kotST", Long: "key output field-separator compress-program files0-from temporary-directory", Writes: "o", Runs: "compress-program"},
		"cut":   {Use: UseRead, Valued: "dfbc"},
		"paste": {Use: UseRead, Valued: "d"},
		"od":    {Use: UseRead, Valued: "AjNtw"}, "xxd": {Use: UseSecondWrite, Valued: "clgso"}, "uniq": {Use: UseSecondWrite, Valued: "fsw"},
		"shuf": {Use: UseRead, Valued: "ino", Long: "output input-range head-count", Writes: "o"}, "hexdump": {Use: UseRead, Valued: "efns"},
		"strings": {Use: UseRead, Valued: "nt"}, "base64": {Use: UseRead, Valued: "wio", Long: "output input wrap", Writes: "o", Reads: "i"}, "base32": {Use: UseRead, Valued: "w"},
		"pdftotext": {Use: UseSecondWrite, Valued: "flrxyWHe"}, "qpdf": {Use: UseSecondWrite}, "sass": {Use: UseSecondWrite, Valued: "I"}, "lessc": {Use: UseSecondWrite},
		"dos2unix": {Use: UseWrite}, "unix2dos": {Use: UseWrite}, "recode": {Use: UseSkipWrite},
		"source": {}, "stat": {Use: UseRead, Valued: "cf", Long: "format printf"},
		"ls": {Use: UseRead, Valued: "IwT", Long: "ignore width"}, "tree": {Use: UseRead, Valued: "LIPo", Writes: "o"}, "du": {Use: UseRead, Valued: "dtX"},
		"dircolors": {Use: UseRead}, "openssl": {},
	}
	m["egrep"], m["fgrep"], m["zgrep"] = m["grep"], m["grep"], m["grep"]
	for _, name := range strings.Fields("cat tac less more most bat nl wc file md5sum sha1sum sha256sum sha512sum md5 shasum cksum diff cmp comm join rev fold fmt column expand readlink realpath zcat bzcat xzcat view open xdg-open gpg pbcopy look") {
		m[name] = Program{Use: UseRead}
	}
	return m
})

// Of is how the operand at i of n is touched.
func (u Use) Of(i, n int, target bool) string {
	last := i == n-1 && n > 1 && !target
	switch u {
	case UseRead:
		return collect.AccessRead
	case UseWrite, UseOutput:
		return collect.AccessWrite
	case useDelete:
		return collect.AccessDelete
	case UseCopy, UseMove:
		switch {
		case last:
			return collect.AccessWrite
		case u == UseMove:
			return collect.AccessDelete
		}
		return collect.AccessRead
	case UseFirstWrite, UseSecondWrite:
		if i == int(u-UseFirstWrite) {
			return collect.AccessWrite
		}
		return collect.AccessRead
	case UseSkipWrite, UseSkipRead:
		switch {
		case i == 0:
			return ""
		case u == UseSkipWrite:
			return collect.AccessWrite
		}
		return collect.AccessRead
	}
	return ""
}

// What a command does depends on a word of run time where the word could be
// the program, an option, code, or a path that is written or deleted. Where
// it can only be text, or name what a harmless reader reads, nothing hangs on
// it, and it is not unresolved.

const (
	// TextPrograms print their words, or compare them.
	TextPrograms = "echo printf true false : exit return test [ sleep wait seq expr dirname basename"
	// LookingPrograms say that something is there, or what lies there, and show none of
	// its content.
	LookingPrograms = "ls stat realpath readlink which type"
	// Readers have no option that runs, writes or deletes. Theirs are the
	// files that they read.
	Readers = "cat tac head tail wc nl cut paste join comm diff cmp ls stat file du df grep egrep fgrep zgrep rev fold fmt column " +
		"hexdump strings md5sum sha1sum sha256sum sha512sum cksum readlink realpath basename dirname which type tr shellcheck"
	// Checkers are linters, formatters and test runners. What they could do to a
	// file by a name that reads as an option, the project's own code can do too.
	Checkers = "eslint prettier biome oxlint stylelint tsc black isort ruff flake8 mypy pylint pyright pytest gofmt goimports gofumpt golangci-lint rustfmt clang-format clang-tidy cppcheck " +
		"rubocop standardrb rspec phpcs php-cs-fixer phpstan phpunit ktlint google-java-format swiftformat swiftlint hlint ormolu jest vitest yamllint markdownlint hadolint codespell shfmt " +
		"identify exiftool ffprobe mediainfo pdfinfo xmllint jsonlint bat batcat pyflakes luacheck selene ktlint detekt clj-kondo actionlint sqlfluff protolint optipng typos vale bats"
	// PatternReaders are the readers whose first operand is text.
	PatternReaders = "grep egrep fgrep zgrep tr"
)
