"""A real Hadoop cluster on loopback, for tests.

The command `test/cluster/hadoop` and the pytest fixtures in `test/conftest.py` are the two doors;
everything below them lives here, one idea per module:

    places      where things are kept: cache, run directories, Java
    install     what is made once for a Hadoop version: jars (fetch), NameNode directories
                (template) and a class archive (archive)
    spec        what kind of cluster is wanted, as data
    layout      who is where: daemons, addresses, directories
    ports       a block of ports that nobody else has
    conf        the Hadoop configuration, from conf_core, conf_hdfs and conf_yarn
    kdc, tls    Kerberos and HTTPS material
    private     accounts, small disks and mounts that only one cluster sees (root only)
    dockerd     a docker daemon and its image
    compiled    small C programs: preload for DataNodes, ../container-executor for NodeManagers
    daemons     how each daemon is started, with the JVM options of java
    keeper      the process that owns the daemons and ends with its owner; process is how
    control     asking the keeper for something
    startup     from nothing to a cluster that accepts work, and back
    actions     killing, pausing, restarting, failing over
    watch, web  what the daemons themselves say about their state
    leftovers   what an application has left on the nodes
    cluster     all of it as one object for tests; pool has those of a pytest process, schedule
                says which process runs which tests, story what the jobs of a failed one say
    rest        small applications to try a cluster with
    cli         the command line
"""
