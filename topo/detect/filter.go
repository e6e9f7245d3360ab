package detect

import (
	"slices"
	"strings"
)

// NetFilter says which network ports are used, in the words of NCCL's variables.
type NetFilter struct {
	// Sockets is NCCL_SOCKET_IFNAME: prefixes of names, separated by commas; after
	// "=" whole names, after "^" those that are not used.
	Sockets string
	// Verbs is NCCL_IB_HCA: as Sockets, and each name may have a port: "mlx5_0:1".
	Verbs string
	// NoVerbs is NCCL_IB_DISABLE.
	NoVerbs bool
}

// preferred are lists like those of Sockets: the first that an interface is in tells
// which are used where nobody says (NCCL v2.30 src/misc/socket.cc).
var preferred = []string{"ib", "^docker,lo,virbr", "docker", loopback, "virbr"}

// interfaces returns those that are used.
func (f NetFilter) interfaces(all []netInterface) []netInterface {
	lists := preferred
	if f.Sockets != "" {
		lists = []string{f.Sockets}
	}
	for _, text := range lists {
		list := parseList(text)
		left := slices.DeleteFunc(slices.Clone(all), func(n netInterface) bool { return !list.has(n.name, "") })
		if len(left) > 0 {
			return left
		}
	}
	return nil
}

// verbs reports whether a port of an RDMA device is used.
func (f NetFilter) verbs(name, port string) bool {
	return f.Verbs == "" || parseList(f.Verbs).has(name, port)
}

// nameList is a list of names as NCCL's variables have it.
type nameList struct {
	names          []string
	exact, without bool
}

func parseList(text string) nameList {
	var l nameList
	text, l.without = strings.CutPrefix(strings.TrimSpace(text), "^")
	text, l.exact = strings.CutPrefix(text, "=")
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			l.names = append(l.names, name)
		}
	}
	return l
}

// has reports whether the list lets a name through.
func (l nameList) has(name, port string) bool {
	named := slices.ContainsFunc(l.names, func(n string) bool {
		n, only, limited := strings.Cut(n, ":")
		if limited && only != port {
			return false
		}
		return n == name || !l.exact && strings.HasPrefix(name, n)
	})
	return named != l.without
}
