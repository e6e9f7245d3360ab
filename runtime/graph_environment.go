package nccl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// GraphSettings are what NCCL_* variables say of how hosts are seen, searched and
// connected. [ReadGraphSettings] gives NCCL's defaults where they say nothing.
type GraphSettings struct {
	// Hosts are the settings of paths and searches.
	Hosts topo.HostParams
	// Layout are those of channels.
	Layout topo.LayoutParams
	// Fabric says that NVLink joins the hosts.
	Fabric bool
	// GraphFile is the name of the file that has graphs, or "".
	GraphFile string
}

// ReadGraphSettings reads the variables by getenv, which is like os.LookupEnv.
// A value that is none is refused with the variable's name.
func ReadGraphSettings(getenv func(string) (string, bool)) (*GraphSettings, error) {
	e := &environment{getenv: getenv}
	s := &GraphSettings{}
	e.paths(&s.Hosts.Params)
	e.search(&s.Hosts)
	e.channels(&s.Layout)
	s.Layout.CollNet = s.Hosts.Search.CollNet
	s.Layout.FixedNetChannels = s.Hosts.NetPeerChannels > 0
	// 2 leaves it to the hardware, of which nothing is known here.
	fabric := 2
	e.integer(&fabric, 0, 2, 1, "NCCL_MNNVL_ENABLE")
	s.Fabric = fabric == 1
	_, s.GraphFile, _ = e.lookup("NCCL_GRAPH_FILE")
	if e.err != nil {
		return nil, e.err
	}
	return s, nil
}

// paths reads what paths depend on.
func (e *environment) paths(p *topo.Params) {
	e.pathLevel(&p.P2PLevel, "NCCL_P2P_LEVEL")
	disabled := false
	e.flag(&disabled, true, "NCCL_P2P_DISABLE")
	if disabled {
		p.P2PLevel = new(topo.PathLOC)
	}
	e.pathLevel(&p.GDRLevel, "NCCL_NET_GDR_LEVEL")
	read := -1
	e.integer(&read, 0, 1, 1, "NCCL_NET_GDR_READ")
	if read >= 0 {
		p.GDRRead = []topo.GDRRead{topo.GDRReadOff, topo.GDRReadOn}[read]
	}
	e.flag(&p.GDRPartitions, true, "NCCL_NET_GDR_MLOPART")
	e.flag(&p.NoGDRC2C, false, "NCCL_NET_GDR_C2C")
	e.flag(&p.NoPXN, true, "NCCL_PXN_DISABLE")
	e.flag(&p.NoPXNC2C, false, "NCCL_PXN_C2C")
	e.flag(&p.NoNVB, true, "NCCL_NVB_DISABLE")
	e.flag(&p.NoSHM, true, "NCCL_SHM_DISABLE")
	e.flag(&p.NoIntraNet, true, "NCCL_NET_DISABLE_INTRA")
	e.netDevs(&p.NetDevs)
}

// flag sets *field if the variable is 1, or, if on is false, if it is 0.
func (e *environment) flag(field *bool, on bool, name string) {
	n := -1
	e.integer(&n, 0, 1, 1, name)
	if n >= 0 {
		*field = (n == 1) == on
	}
}

// oldLevels are the numbers that NCCL had before path types had names
// (NCCL v2.30 src/graph/paths.cc).
var oldLevels = []topo.PathType{topo.PathLOC, topo.PathPIX, topo.PathPXB, topo.PathPHB, topo.PathSYS, topo.PathSYS}

// pathLevel reads a path type by name, or by its number of old.
func (e *environment) pathLevel(field **topo.PathType, name string) {
	_, value, ok := e.lookup(name)
	if !ok {
		return
	}
	level, err := topo.ParsePathType(strings.ToUpper(value))
	if n, numeric := strconv.Atoi(value); numeric == nil && n >= 0 && n < len(oldLevels) {
		level, err = oldLevels[n], nil
	}
	if err != nil || level > topo.PathSYS {
		e.refuse(name, value, "allowed are %s, and 0 to %d", levelNames(), len(oldLevels)-1)
		return
	}
	*field = &level
}

// levelNames returns the path types that a level may be.
func levelNames() string {
	var names []string
	for t := range topo.PathSYS + 1 {
		names = append(names, t.String())
	}
	return strings.Join(names, " ")
}

// netDevs reads NCCL_NETDEVS_POLICY.
func (e *environment) netDevs(d *topo.NetDevs) {
	const name = "NCCL_NETDEVS_POLICY"
	_, value, ok := e.lookup(name)
	if !ok {
		return
	}
	switch policy, most, isMax := strings.Cut(strings.ToUpper(value), ":"); {
	case policy == "AUTO" && !isMax:
		*d = topo.NetDevs{}
	case policy == "ALL" && !isMax:
		*d = topo.NetDevs{All: true}
	case policy == "MAX" && isMax:
		n, err := strconv.Atoi(most)
		if err == nil && n > 0 {
			*d = topo.NetDevs{Max: n}
			return
		}
		fallthrough
	default:
		e.refuse(name, value, "allowed are AUTO, ALL and MAX:n with n > 0")
	}
}

// search reads what searches depend on.
func (e *environment) search(p *topo.HostParams) {
	cross := int(topo.CrossNICPairs)
	e.integer(&cross, 0, 2, 1, "NCCL_CROSS_NIC")
	p.Search.CrossNIC = topo.CrossNIC(cross)
	e.flag(&p.Search.NoScatter, false, "NCCL_MNNVL_SCATTER_NETS_ENABLE")
	e.flag(&p.Search.RailPerHost, true, "NCCL_MNNVL_RAIL_PER_HOST")
	e.flag(&p.Search.CollNet, true, "NCCL_COLLNET_ENABLE")
	p.Search.NVLS = e.nvls()
	p.Search.Better = e.betterChannels(true)
	e.integer(&p.NetPeerChannels, 1, MaxChannels, 1, "NCCL_NCHANNELS_PER_NET_PEER")
	e.integer(&p.NetChannelBW, 1, 1<<20, 1, "NCCL_P2P_PER_CHANNEL_NET_BW")
}

// BetterChannels reads NCCLGO_BETTER_CHANNELS by getenv, which is like os.LookupEnv:
// whether communicators have better channels than NCCL's where there are any. They do
// unless it says otherwise. A value that is none is refused.
func BetterChannels(getenv func(string) (string, bool)) (bool, error) {
	e := &environment{getenv: getenv}
	better := e.betterChannels(true)
	return better, e.err
}

// betterChannels reads whether better channels than NCCL's are used where there are
// any.
func (e *environment) betterChannels(unlessSaid bool) bool {
	better := 0
	if unlessSaid {
		better = 1
	}
	e.integer(&better, 0, 1, 1, "NCCLGO_BETTER_CHANNELS")
	return better == 1
}

// channels reads what the number of channels depends on.
func (e *environment) channels(p *topo.LayoutParams) {
	e.integer(&p.CollNetNodes, 1, 1<<20, 1, "NCCL_COLLNET_NODE_THRESHOLD")
	e.integer(&p.MinChannels, 1, MaxChannels, 1, "NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS")
	e.integer(&p.MaxChannels, 1, MaxChannels, 1, "NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS")
	e.integer(&p.MinCTAs, 1, MaxChannels, 1, "NCCL_MIN_CTAS")
	e.integer(&p.MaxCTAs, 1, MaxChannels, 1, "NCCL_MAX_CTAS")
	e.integer(&p.NVLSChannels, 1, MaxChannels, 1, "NCCL_NVLS_NCHANNELS")
	e.integer(&p.MinP2PChannels, 1, MaxChannels, 1, "NCCL_MIN_P2P_NCHANNELS")
	e.integer(&p.MaxP2PChannels, 1, MaxChannels, 1, "NCCL_MAX_P2P_NCHANNELS")
	e.integer(&p.P2PPeers, 1, 1<<20, 1, "NCCL_MAX_P2P_PEERS")
}

// GraphVariables returns the names of the variables that [ReadGraphSettings]
// reads, sorted.
func GraphVariables() []string {
	return askedBy(func(e *environment) {
		// Nothing is set, so nothing is refused.
		_, _ = ReadGraphSettings(e.getenv)
	})
}

// Variables returns the names of the variables that communicators read, sorted.
func Variables() []string {
	return askedBy(func(e *environment) { e.apply(new(Config)) })
}

// askedBy returns the names that read asks for, sorted.
func askedBy(read func(*environment)) []string {
	var names []string
	read(&environment{getenv: func(name string) (string, bool) {
		names = append(names, name)
		return "", false
	}})
	slices.Sort(names)
	return names
}
